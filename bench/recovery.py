"""Recovery: what a history costs the writers of its table, and how fast backups and restores are.

    python -m bench.recovery [SECONDS [ITEMS]]   each measurement, 1 second; 20,000 items

That takes about two minutes. For figures to publish: 3 seconds and 50,000 items.

SECONDS of 0 leave the writers out. The items of backups hardly compress.

Two tables have the same items; one has point-in-time recovery. The same puts and updates go to one
and the other in turns, and the medians are compared. Then the table with recovery is backed up and
restored, without indexes and with one, while GetItem is measured beside it.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from functools import partial
from typing import Any

from bench.jobs import (
    ITEMS,
    latency_beside,
    load_orders,
    protect,
    read_latency,
    say,
    succeed,
    text,
    wait,
)
from bench.load import Sample, measure
from bench.prepare import create_tables, load_items
from bench.servers import KINDS, Server, running
from bench.workloads import TABLE, Call, calls, table_definitions

_PROTECTED = "bench_protected"
_LARGE = "bench_large"
_INDEXED = "bench_indexed"
_ROUNDS = 5
_CONNECTIONS = 16

Json = dict[str, Any]


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    with running([KINDS[0]], on_disk=True) as (server,):
        _prepare(server)
        for workload in ("put", "update") if seconds else ():
            _compare(server, workload, seconds)
        _prepare_large(server, items)
        for table in (_LARGE, _INDEXED):
            _restore(server, table, items)


def _prepare(server: Server) -> None:
    plain = table_definitions()[0]
    create_tables(server, [plain, {**plain, "TableName": _PROTECTED}])
    load_orders(server, TABLE, _PROTECTED)
    protect(server, _PROTECTED)


def _compare(server: Server, workload: str, seconds: int) -> None:
    samples: dict[str, list[Sample]] = {TABLE: [], _PROTECTED: []}
    for number in range(_ROUNDS):
        requests = calls(workload, str(number), items=ITEMS)
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
        f"({protected[0] / without[0]:.0%}); CPU {without[1]:.0f} and {protected[1]:.0f} us each "
        f"({without[1] / protected[1]:.0%})\n"
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
            (table, {"p": {"S": f"{n:08}"}, "q": {"S": str(n % 997)}, "body": {"S": text(rng)}})
            for table in (_LARGE, _INDEXED)
            for n in range(count)
        ),
    )
    for table in (_LARGE, _INDEXED):
        protect(server, table)


def _restore(server: Server, table: str, items: int) -> None:
    """Back a table up, and restore it from its history and from the backup."""
    _wait_for_table(server, table, items)
    quiet = read_latency(server, 2)
    memory_mb = server.memory_mb()
    begin = (time.monotonic(), server.cpu_seconds())
    made = succeed(server, "CreateBackup", TableName=table, BackupName="bench")
    arn = made["BackupDetails"]["BackupArn"]
    _wait_for_backup(server, arn, items)
    say(server, f"{table}: backup", items, begin)
    source = {"SourceTableName": table, "UseLatestRestorableTime": True}
    for title, operation, request in (
        ("restore to a time", "RestoreTableToPointInTime", source),
        ("restore from the backup", "RestoreTableFromBackup", {"BackupArn": arn}),
    ):
        target = f"{table}_{operation}"
        begin = (time.monotonic(), server.cpu_seconds())
        succeed(server, operation, TargetTableName=target, **request)
        wait(partial(_is_active, server, target), target)
        say(server, f"{table}: {title}", items, begin)
        _wait_for_table(server, target, items)
    if "--no-reads" in sys.argv:
        return
    busy = latency_beside(server, partial(_back_up_and_restore, server, table, items))
    sys.stdout.write(
        f"{table}: p99 of GetItem {quiet:.2f} ms, {busy:.2f} ms beside backup and restore "
        f"({busy / quiet:.1f}x); memory {memory_mb:.0f} MB before, "
        f"{server.memory_mb():.0f} MB after\n"
    )


def _back_up_and_restore(server: Server, table: str, items: int, number: int) -> None:
    made = succeed(server, "CreateBackup", TableName=table, BackupName="bench")
    arn = made["BackupDetails"]["BackupArn"]
    _wait_for_backup(server, arn, items)
    target = f"{table}_again_{number}"
    succeed(server, "RestoreTableFromBackup", BackupArn=arn, TargetTableName=target)
    # Its items are not counted here: a scan would be measured as well.
    wait(partial(_is_active, server, target), target)
    succeed(server, "DeleteTable", TableName=target)


def _is_active(server: Server, table: str) -> bool:
    return bool(_describe(server, table)["TableStatus"] == "ACTIVE")


def _wait_for_table(server: Server, table: str, items: int) -> None:
    """Wait until a table is ACTIVE, and make sure that it has so many items."""
    wait(partial(_is_active, server, table), table)
    counted = 0
    start: dict[str, Any] = {}
    while True:
        page = succeed(server, "Scan", TableName=table, Select="COUNT", **start)
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
    description: Json = succeed(server, "DescribeTable", TableName=table)["Table"]
    return description


def _wait_for_backup(server: Server, arn: str, items: int) -> None:
    """Wait until a backup is AVAILABLE, and make sure that it has so many items."""

    def description() -> Json:
        found: Json = succeed(server, "DescribeBackup", BackupArn=arn)["BackupDescription"]
        return found

    wait(lambda: description()["BackupDetails"]["BackupStatus"] == "AVAILABLE", arn)
    counted = description()["SourceTableDetails"]["ItemCount"]
    if counted != items:
        raise RuntimeError(f"{arn} has {counted} items, not {items}")


if __name__ == "__main__":
    main()
