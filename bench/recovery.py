"""Recovery: what a history costs the writers of its table, and how fast backups and restores are.

    python -m bench.recovery [SECONDS [ITEMS]]   each measurement, 3 seconds; 50,000 items

SECONDS of 0 leave the writers out. The items of backups hardly compress.

Two tables have the same items; one has point-in-time recovery. The same puts and updates go to one
and the other in turns, and the medians are compared. Then the table with recovery is backed up and
restored, without indexes and with one, while GetItem is measured beside it.
"""

from __future__ import annotations

import base64
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.load import Sample, measure
from bench.prepare import create_tables, load_items
from bench.servers import KINDS, Server, running
from bench.workloads import TABLE, Call, calls, order_item, table_definitions

_PROTECTED = "bench_protected"
_LARGE = "bench_large"
_INDEXED = "bench_indexed"
_ITEMS = 2_000
_ROUNDS = 5
_CONNECTIONS = 16
_WAIT_SECONDS = 120.0

Json = dict[str, Any]


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    with running([KINDS[0]], on_disk=True) as (server,):
        _prepare(server)
        for workload in ("put", "update") if seconds else ():
            _compare(server, workload, seconds)
        _prepare_large(server, items)
        for table in (_LARGE, _INDEXED):
            _restore(server, table, items)


def _succeed(server: Server, operation: str, **request: Any) -> Json:
    status, answer = server.call(operation, request)
    if status != 200:
        raise RuntimeError(f"{operation} answered {status}: {answer}")
    return answer


def _protect(server: Server, table: str) -> None:
    _succeed(
        server,
        "UpdateContinuousBackups",
        TableName=table,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )


def _prepare(server: Server) -> None:
    plain = table_definitions()[0]
    create_tables(server, [plain, {**plain, "TableName": _PROTECTED}])
    rng = random.Random(1)
    items = [order_item(rng, index, "0") for index in range(_ITEMS)]
    load_items(server, ((table, item) for table in (TABLE, _PROTECTED) for item in items))
    _protect(server, _PROTECTED)


def _compare(server: Server, workload: str, seconds: int) -> None:
    samples: dict[str, list[Sample]] = {TABLE: [], _PROTECTED: []}
    for number in range(_ROUNDS):
        requests = calls(workload, str(number), items=_ITEMS)
        for table, measured in samples.items():
            aimed = [_aim(call, table) for call in requests]
            measured.append(measure(server, aimed, connections=_CONNECTIONS, seconds=seconds))
    without, protected = (
        (
            statistics.median(sample.per_second for sample in measured),
            statistics.median(sample.server_cpu_us for sample in measured),
        )
        for measured in samples.values()
    )
    sys.stdout.write(
        f"{workload}: {without[0]:,.0f}/s without recovery, {protected[0]:,.0f}/s with "
        f"({protected[0] / without[0]:.0%}); CPU {without[1]:.0f} and {protected[1]:.0f} us each\n"
    )


def _aim(call: Call, table: str) -> Call:
    return call._replace(body={**call.body, "TableName": table})


def _prepare_large(server: Server, count: int) -> None:
    keys = [{"AttributeName": "p", "KeyType": "HASH"}]
    index = {
        "IndexName": "by-q",
        "KeySchema": [{"AttributeName": "q", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    plain = {"TableName": _LARGE, "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys}
    types = [{"AttributeName": name, "AttributeType": "S"} for name in "pq"]
    create_tables(
        server,
        [
            {**plain, "AttributeDefinitions": types[:1]},
            {
                **plain,
                "TableName": _INDEXED,
                "AttributeDefinitions": types,
                "GlobalSecondaryIndexes": [index],
            },
        ],
    )
    rng = random.Random(2)
    load_items(
        server,
        (
            (table, {"p": {"S": f"{n:08}"}, "q": {"S": str(n % 997)}, "body": {"S": _text(rng)}})
            for table in (_LARGE, _INDEXED)
            for n in range(count)
        ),
    )
    for table in (_LARGE, _INDEXED):
        _protect(server, table)


def _text(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(735)).decode()


def _restore(server: Server, table: str, items: int) -> None:
    """Back a table up, and restore it from its history and from the backup."""
    _wait_for_table(server, table, items)
    quiet = _read_latency(server, 2)
    begin = (time.monotonic(), server.cpu_seconds())
    made = _succeed(server, "CreateBackup", TableName=table, BackupName="bench")
    arn = made["BackupDetails"]["BackupArn"]
    _wait_for_backup(server, arn, items)
    _say(server, f"{table}: backup", items, begin)
    source = {"SourceTableName": table, "UseLatestRestorableTime": True}
    for title, operation, request in (
        ("restore to a time", "RestoreTableToPointInTime", source),
        ("restore from the backup", "RestoreTableFromBackup", {"BackupArn": arn}),
    ):
        target = f"{table}_{operation}"
        begin = (time.monotonic(), server.cpu_seconds())
        _succeed(server, operation, TargetTableName=target, **request)
        _wait(partial(_is_active, server, target), target)
        _say(server, f"{table}: {title}", items, begin)
        _wait_for_table(server, target, items)
    if "--no-reads" in sys.argv:
        return
    busy = _latency_beside(server, table, items)
    sys.stdout.write(
        f"{table}: p99 of GetItem {quiet:.2f} ms, {busy:.2f} ms beside backup and restore "
        f"({busy / quiet:.1f}x); memory {server.memory_mb():.0f} MB\n"
    )


def _latency_beside(server: Server, table: str, items: int) -> float:
    """Return the latency of reads while backups and restores follow each other."""
    stop = threading.Event()

    def work() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            made = _succeed(server, "CreateBackup", TableName=table, BackupName="bench")
            arn = made["BackupDetails"]["BackupArn"]
            _wait_for_backup(server, arn, items)
            target = f"{table}_again_{number}"
            _succeed(server, "RestoreTableFromBackup", BackupArn=arn, TargetTableName=target)
            _wait_for_table(server, target, items)
            _succeed(server, "DeleteTable", TableName=target)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        return _read_latency(server, 6)
    finally:
        stop.set()
        worker.join()


def _read_latency(server: Server, seconds: int) -> float:
    """Return the 99th percentile of GetItem on four connections, in milliseconds."""
    requests = [_aim(call, TABLE) for call in calls("get", "0", items=_ITEMS)]
    return measure(server, requests, connections=4, seconds=seconds).p99_ms


def _is_active(server: Server, table: str) -> bool:
    return bool(_describe(server, table)["TableStatus"] == "ACTIVE")


def _wait_for_table(server: Server, table: str, items: int) -> None:
    """Wait until a table is ACTIVE, and make sure that it has so many items."""
    _wait(partial(_is_active, server, table), table)
    counted = 0
    start: dict[str, Any] = {}
    while True:
        page = _succeed(server, "Scan", TableName=table, Select="COUNT", **start)
        counted += page["Count"]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    described = _describe(server, table)
    told = [described["ItemCount"]]
    told += [index["ItemCount"] for index in described.get("GlobalSecondaryIndexes", [])]
    if counted != items or any(count != items for count in told):
        raise RuntimeError(f"{table} has {counted} items, says {told}, not {items}")


def _describe(server: Server, table: str) -> Json:
    description: Json = _succeed(server, "DescribeTable", TableName=table)["Table"]
    return description


def _wait_for_backup(server: Server, arn: str, items: int) -> None:
    """Wait until a backup is AVAILABLE, and make sure that it has so many items."""

    def description() -> Json:
        found: Json = _succeed(server, "DescribeBackup", BackupArn=arn)["BackupDescription"]
        return found

    _wait(lambda: description()["BackupDetails"]["BackupStatus"] == "AVAILABLE", arn)
    counted = description()["SourceTableDetails"]["ItemCount"]
    if counted != items:
        raise RuntimeError(f"{arn} has {counted} items, not {items}")


def _wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} was never ready")
        time.sleep(0.02)


def _say(server: Server, what: str, items: int, begin: tuple[float, float]) -> None:
    """Report the rate since the beginning, and the server's CPU, which other load hardly alters."""
    seconds, used = time.monotonic() - begin[0], server.cpu_seconds() - begin[1]
    sys.stdout.write(
        f"{what}: {items / seconds:,.0f} items/s, {used / items * 1e6:.0f} us CPU each\n"
    )


if __name__ == "__main__":
    main()
