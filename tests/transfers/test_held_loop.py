"""No job keeps the event loop from requests for long: what it does in one go takes little CPU time.

Counted are the callbacks of the server's event loop, without those of requests, in CPU time of its
thread, while a client reads all the time. The bounds follow from the speed of the machine.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hashrange.app.application import Application
from hashrange.app.engines import reserve_data
from hashrange.app.keys import ServerKeys
from hashrange.app.stages import make_identities, make_stages
from hashrange.clock import VirtualClock
from hashrange.config import Settings
from hashrange.server_process import calm_collector
from hashrange.wire.http.connection import Connection
from hashrange.wire.http.listener import SharedListener
from hashrange.wire.http.loop_turn import LoopTurn
from tests.harness.held_loop import held_loop
from tests.harness.tracing import traced_factor
from tests.wire.conftest import Client
from tests.wire.test_held_loop import unit_seconds

ITEMS = 3000
TABLE = "table"
BUCKET = "bucket"
ARN = f"arn:aws:dynamodb:eu-west-1:000000000000:table/{TABLE}"
PERIOD_SECONDS = 3600
ATTEMPTS = 5
WAIT_SECONDS = 60
SHORT_SHARE = 0.75
LONGEST_SECONDS = 0.005
SHORT_SECONDS = 0.000_6
# How long a machine that keeps these bounds takes for `unit_seconds`.
UNIT_SECONDS = 0.012
REQUESTS = (LoopTurn, Connection, asyncio.Transport)


class Place:
    """A server with a table of items, and clients."""

    def __init__(self, port: int, clock: VirtualClock) -> None:
        self._port = port
        self.clock = clock
        self._client = Client(port)
        self._client.socket.settimeout(WAIT_SECONDS)
        self.numbers = itertools.count()

    def close(self) -> None:
        self._client.socket.close()

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        status, _, body = self._client.call(operation, json.dumps(request).encode())
        assert status == 200, body
        answer: dict[str, Any] = json.loads(body)
        return answer

    def wait(self, describe: Callable[[], str], while_status: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while (status := describe()) == while_status:
            assert time.monotonic() < deadline, status
        assert status in ("COMPLETED", "AVAILABLE", "ACTIVE", "COMPLETED_WITH_ERRORS"), status

    def wait_for_table(self, name: str) -> None:
        def describe() -> str:
            return str(self.call("DescribeTable", TableName=name)["Table"]["TableStatus"])

        self.wait(describe, "CREATING")

    def fill(self) -> None:
        self.call("CreateTable", **self.definition(TABLE))
        self.call(
            "UpdateContinuousBackups",
            TableName=TABLE,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        for start in range(0, ITEMS, 25):
            puts = [{"PutRequest": {"Item": item(number)}} for number in range(start, start + 25)]
            self.call("BatchWriteItem", RequestItems={TABLE: puts})

    @staticmethod
    def definition(name: str) -> dict[str, Any]:
        return {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        }

    def back_up(self) -> str:
        made = self.call("CreateBackup", TableName=TABLE, BackupName="backup")
        arn: str = made["BackupDetails"]["BackupArn"]
        self.wait(lambda: self._backup_status(arn), "CREATING")
        return arn

    def _backup_status(self, arn: str) -> str:
        found = self.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
        return str(found["BackupDetails"]["BackupStatus"])

    def restore(self, operation: str, **source: Any) -> None:
        name = f"restored{next(self.numbers)}"
        self.call(operation, TargetTableName=name, **source)
        self.wait_for_table(name)

    def export(self, **more: Any) -> str:
        made = self.call("ExportTableToPointInTime", TableArn=ARN, S3Bucket=BUCKET, **more)
        arn = made["ExportDescription"]["ExportArn"]
        described = self._ended("Export", arn, "ExportDescription")
        assert described["ItemCount"] == ITEMS
        return str(described["ExportManifest"])

    def load(self, prefix: str) -> None:
        made = self.call(
            "ImportTable",
            S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters=self.definition(f"imported{next(self.numbers)}"),
        )
        arn = made["ImportTableDescription"]["ImportArn"]
        described = self._ended("Import", arn, "ImportTableDescription")
        assert described["ImportedItemCount"] == ITEMS

    def put_all(self, prefix: str) -> None:
        source = {"S3Bucket": BUCKET, "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON"}
        made = self.call(
            "StartBulkPutItems",
            TableName=TABLE,
            InputS3Configuration={**source, "InputCompressionType": "GZIP"},
            OutputS3Configuration={"OutputType": []},
        )
        arn = made["BulkOperationDescription"]["BulkOperationArn"]
        described = self._ended("BulkOperation", arn, "BulkOperationDescription")
        assert described["ProcessedItemCount"] == ITEMS, described

    def _ended(self, kind: str, arn: str, member: str) -> dict[str, Any]:
        """Wait until a job has ended; return its description."""

        def describe() -> dict[str, Any]:
            found: dict[str, Any] = self.call(f"Describe{kind}", **{f"{kind}Arn": arn})[member]
            return found

        self.wait(lambda: str(describe()[f"{kind}Status"]), "IN_PROGRESS")
        return describe()

    @contextmanager
    def reader(self) -> Iterator[None]:
        """Have another client read all the time."""
        stop = threading.Event()
        request = json.dumps({"TableName": TABLE, "Key": {"p": {"S": "7"}}}).encode()

        def read() -> None:
            client = Client(self._port)
            client.socket.settimeout(WAIT_SECONDS)
            while not stop.is_set():
                client.call("GetItem", request)
            client.socket.close()

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def item(number: int) -> dict[str, Any]:
    return {"p": {"S": str(number)}, "body": {"S": f"{number:08}" * 120}}


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A server in a thread, with the cycle collector set as a server process does."""
    folder = tmp_path_factory.mktemp("held")
    (folder / "buckets" / BUCKET).mkdir(parents=True)
    settings = Settings(
        in_memory=request.param == "memory",
        data_dir=folder / "data",
        bucket_dir=folder / "buckets",
        backup_dir=folder / "backups",
        stop_timeout=1,
    )
    clock = VirtualClock(time.time())
    keys = ServerKeys(settings)
    identities = make_identities(keys)
    stages = make_stages(settings, clock, identities, keys.keyring)
    application = Application(settings, stages, clock, identities, keys)
    thresholds = gc.get_threshold()
    calm_collector()
    with (
        reserve_data(settings),
        socket.create_server(("127.0.0.1", 0)) as listening,
        running_loop() as loop,
    ):
        started = application.start(SharedListener(listening))
        asyncio.run_coroutine_threadsafe(started, loop).result(WAIT_SECONDS)
        made = Place(listening.getsockname()[1], clock)
        made.fill()
        clock.advance(PERIOD_SECONDS)
        yield made
        made.close()
        asyncio.run_coroutine_threadsafe(application.stop(), loop).result(WAIT_SECONDS)
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@contextmanager
def running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.SelectorEventLoop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def check(place: Place, work: Callable[[], object]) -> None:
    """Run a job beside a client that reads, and see how long it keeps the event loop."""
    seen: list[str] = []
    while len(seen) < ATTEMPTS:
        with place.reader(), held_loop(REQUESTS) as holds:
            work()
        slowness = max(1.0, unit_seconds() / UNIT_SECONDS) * traced_factor()
        longest = holds.longest_seconds / slowness
        share = holds.share_below(SHORT_SECONDS * slowness)
        if longest < LONGEST_SECONDS and share > SHORT_SHARE:
            return
        seen.append(f"{longest * 1000:.1f} ms at most, {share:.0%} in short callbacks")
    pytest.fail("; ".join(seen))


def test_a_backup_and_its_restore_work_in_short_pieces(place: Place) -> None:
    check(place, place.back_up)
    arn = place.back_up()
    check(place, lambda: place.restore("RestoreTableFromBackup", BackupArn=arn))


def test_a_restore_to_a_time_works_in_short_pieces(place: Place) -> None:
    source = {"SourceTableName": TABLE, "UseLatestRestorableTime": True}
    check(place, lambda: place.restore("RestoreTableToPointInTime", **source))


def test_an_export_and_its_import_work_in_short_pieces(place: Place) -> None:
    check(place, place.export)
    prefix = place.export().replace("manifest-summary.json", "data/")
    check(place, lambda: place.load(prefix))


def test_a_bulk_put_works_in_short_pieces(place: Place) -> None:
    prefix = place.export().replace("manifest-summary.json", "data/")
    check(place, lambda: place.put_all(prefix))


def test_an_export_as_ion_works_in_short_pieces(place: Place) -> None:
    check(place, lambda: place.export(ExportFormat="ION"))


def test_an_export_of_changes_works_in_short_pieces(place: Place) -> None:
    now = place.clock.now()
    period = {"ExportFromTime": now - PERIOD_SECONDS, "ExportToTime": now}
    check(
        place,
        lambda: place.export(
            ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period
        ),
    )
