"""Backups and restores end as they should, however often the server is killed meanwhile.

Writers change pairs of items by transactions that keep both equal. A backup and a restore to a time
are begun, and the server is killed at some moment. After the next start both go on. Then every pair
in the backup is equal, and the table restored to a time is what was read at that time. A table that
is being restored takes no requests before it is complete.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

from tests.faults.served import Connection, NoAnswerError, Served, check_file, eventually

ROUNDS = int(os.environ.get("HASHRANGE_KILL_ROUNDS", "2"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
PAIRS = 300
TABLE = "pairs"

# The server with small steps: there are more moments at which it can be killed.
_COMMAND = (
    "-c",
    "from hashrange.services import restores, table_backups;"
    "restores.CHUNK_ROWS = 7; restores._ROWS_PER_SAVE = 14; table_backups._PART_BYTES = 20_000;"
    "from hashrange.cli.main import main; main()",
)


def pair(number: int, value: str) -> list[dict[str, Any]]:
    """Return the two items of a pair, which lie far from each other."""
    return [
        {"p": {"S": f"{side}{number}"}, "v": {"S": value}, "filler": {"S": "x" * 500}}
        for side in "ab"
    ]


def put_pair(connection: Connection, number: int, value: str) -> None:
    actions = [{"Put": {"TableName": TABLE, "Item": item}} for item in pair(number, value)]
    connection.call("TransactWriteItems", {"TransactItems": actions})


class Writer(threading.Thread):
    """Changes pairs until told to stop, whatever becomes of the server."""

    def __init__(self, port: int, seed: int, stopped: threading.Event) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._dice = random.Random(seed)
        self._stopped = stopped

    def run(self) -> None:
        connection = Connection(self._port)
        while not self._stopped.is_set():
            try:
                put_pair(connection, self._dice.randrange(PAIRS), str(self._dice.random()))
            except (NoAnswerError, ConnectionError):
                self._stopped.wait(0.01)
        connection.close()


def create(connection: Connection) -> None:
    connection.result(
        "CreateTable",
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
    )
    connection.result(
        "UpdateContinuousBackups",
        TableName=TABLE,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    for number in range(PAIRS):
        put_pair(connection, number, "first")


def by_key(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["p"]["S"]: item["v"]["S"] for item in items}


def check_pairs(values: dict[str, str]) -> None:
    assert len(values) == 2 * PAIRS
    torn = [number for number in range(PAIRS) if values[f"a{number}"] != values[f"b{number}"]]
    assert not torn, f"{len(torn)} pairs were seen in the middle of a transaction"


def test_backups_and_restores_survive_kills(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    served = Served(tmp_path / "data", "--workers", "2", command=_COMMAND)
    try:
        served.start()
        connection = Connection(served.port)
        create(connection)
        connection.close()
        interrupted = sum(run_round(served, dice, number) for number in range(ROUNDS))
        # Else the kills came too late to show anything.
        assert interrupted >= ROUNDS // 4, f"{interrupted} of {ROUNDS} kills met a job"
        assert served.stop() == 0
    finally:
        served.close()
    check_file(tmp_path / "data")


def run_round(served: Served, dice: random.Random, number: int) -> bool:
    """Kill the server once; tell whether it was at work on the backup or the restore."""
    connection = Connection(served.port)
    expected = by_key(connection.pages("Scan", TableName=TABLE, ConsistentRead=True))
    restored_at = time.time()
    stopped = threading.Event()
    writers = [Writer(served.port, dice.randrange(1 << 30), stopped) for _ in range(2)]
    for writer in writers:
        writer.start()
    name = f"round{number}"
    made = connection.result("CreateBackup", TableName=TABLE, BackupName=name)
    arn = made["BackupDetails"]["BackupArn"]
    connection.result(
        "RestoreTableToPointInTime",
        SourceTableName=TABLE,
        TargetTableName=f"{name}time",
        RestoreDateTime=restored_at,
    )
    reply = connection.call("Scan", {"TableName": f"{name}time"})
    if reply.status == 200:  # complete already, then it is whole
        assert reply.body["Count"] == len(expected)
    # Both take a few tenths of a second.
    stopped.wait(dice.random() * 0.5)
    served.kill()
    connection.close()
    served.start()
    was_at_work = "CREATING" in (
        status(connection, "DescribeBackup", BackupArn=arn),
        status(connection, "DescribeTable", TableName=f"{name}time"),
    )
    finish(connection, arn, name)
    stopped.set()
    for writer in writers:
        writer.join()
    restored = by_key(connection.pages("Scan", TableName=f"{name}time"))
    assert restored == expected
    check_pairs(restored)
    check_pairs(by_key(connection.pages("Scan", TableName=f"{name}backup")))
    for table in (f"{name}time", f"{name}backup"):
        connection.result("DeleteTable", TableName=table)
    connection.result("DeleteBackup", BackupArn=arn)
    connection.close()
    return was_at_work


def status(connection: Connection, operation: str, **request: Any) -> str:
    answer = connection.result(operation, **request)
    if "Table" in answer:
        return str(answer["Table"]["TableStatus"])
    return str(answer["BackupDescription"]["BackupDetails"]["BackupStatus"])


def finish(connection: Connection, arn: str, name: str) -> None:
    """Wait for the backup, restore it, and wait for both tables."""
    eventually(
        lambda: status(connection, "DescribeBackup", BackupArn=arn) == "AVAILABLE", "the backup"
    )
    connection.result("RestoreTableFromBackup", BackupArn=arn, TargetTableName=f"{name}backup")
    for table in (f"{name}time", f"{name}backup"):
        wait_active(connection, table)


def wait_active(connection: Connection, table: str) -> None:
    eventually(
        lambda: status(connection, "DescribeTable", TableName=table) == "ACTIVE", "the table"
    )
