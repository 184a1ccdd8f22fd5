"""Memory stays flat while a large table is imported and exported.

`make transfers` runs it with 200,000 items; HASHRANGE_LARGE_TABLE asks for another number.
"""

import contextlib
import gzip
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import server
from tests.transfers.conftest import DEFINITION, World, wait
from tests.transfers.test_exports import arn_of, export

pytestmark = pytest.mark.judges
COUNT = int(os.environ.get("HASHRANGE_LARGE_TABLE", "200000"))
WARM_COUNT = 20_000
GROWTH_MB_MAX = 40
_LOOK_SECONDS = 0.02


def memory_mb(process: int) -> float:
    """Return the memory of a process, without mapped files."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


def process_of(port: int) -> int:
    """Return the server with one worker that listens on a port."""
    wanted = f"\0--port\0{port}\0".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (path / "cmdline").read_bytes():
                return int(path.name)
    raise AssertionError("there is no such server")


def most_memory_mb(process: int, act: Callable[[], object]) -> float:
    """Do something; return the most memory that the server had meanwhile."""
    seen = [memory_mb(process)]
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_SECONDS):
            seen.append(memory_mb(process))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        act()
    finally:
        done.set()
        watcher.join()
    return max(seen)


def write_input(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", compresslevel=1) as file:
        for number in range(count):
            file.write(
                f'{{"Item":{{"a":{{"S":"p{number % 1000}"}},"b":{{"N":"{number}"}},'
                f'"text":{{"S":"some text of item {number}"}}}}}}\n'
            )


def import_all(dynamodb: Any, bucket: str, prefix: str, table: str) -> None:
    arn = dynamodb.import_table(
        S3BucketSource={"S3Bucket": bucket, "S3KeyPrefix": prefix},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters={"TableName": table, **DEFINITION},
    )["ImportTableDescription"]["ImportArn"]
    ended = wait(
        lambda: dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"], "ImportStatus"
    )
    assert ended["ImportStatus"] == "COMPLETED", ended


def export_all(dynamodb: Any, bucket: str, table: str, count: int) -> None:
    dynamodb.update_continuous_backups(
        TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    described = export(dynamodb, TableArn=arn_of(table), S3Bucket=bucket, S3Prefix=table)
    assert (described["ExportStatus"], described["ItemCount"]) == ("COMPLETED", count)


def test_a_large_table_takes_no_more_memory_than_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.transfers.conftest.WAIT_SECONDS_MAX", 600.0)
    buckets = tmp_path / "buckets"
    write_input(buckets / "bucket" / "warm" / "items.json.gz", WARM_COUNT)
    write_input(buckets / "bucket" / "large" / "items.json.gz", COUNT)
    port = server.free_port()
    command = [sys.executable, "-m", "hashrange", "serve", "--workers", "1", "--port", str(port)]
    command += ["--data-dir", str(tmp_path / "data"), "--bucket-dir", str(buckets)]
    with server.running(command, port) as url:
        dynamodb = World(url, buckets, "sqlite").client("dynamodb")
        import_all(dynamodb, "bucket", "warm", "warm")
        export_all(dynamodb, "bucket", "warm", WARM_COUNT)
        process = process_of(port)
        before = memory_mb(process)
        loading = most_memory_mb(process, lambda: import_all(dynamodb, "bucket", "large", "large"))
        writing = most_memory_mb(process, lambda: export_all(dynamodb, "bucket", "large", COUNT))
    sys.stderr.write(
        f"{COUNT:,} items: {before:.0f} MB before, at most {loading:.0f} MB while importing, "
        f"{writing:.0f} MB while exporting\n"
    )
    assert max(loading, writing) - before < GROWTH_MB_MAX
