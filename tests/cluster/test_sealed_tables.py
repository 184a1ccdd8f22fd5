"""A table with a KMS key is sealed by every process, also by one that hears of nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.cassandra.signals import Signals
from hashrange.keyring.store import KeyStore
from hashrange.sealing import Vault
from tests.harness.calls import answer
from tests.harness.played_cassandra import PlayedCassandra

WORD = "planted-word"
TABLE: dict[str, Any] = {
    "TableName": "Sealed",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in ("a", "g")],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByG",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}
ITEM = {"a": {"S": "k"}, "g": {"S": "g"}, "secret": {"S": WORD}}


def open_database(played: PlayedCassandra) -> Database:
    """Return a process of the cluster; all have the same key of the server."""
    engine = played.engine()
    keyring = KeyStore(Vault(lambda: b"k" * 32))
    keyring.open(engine)
    return Database(engine, VirtualClock(1_800_000_000), keyring=keyring)


async def call(database: Database, operation: str, **request: Any) -> dict[str, Any]:
    answered = await answer(database, operation, json.dumps(request).encode())
    assert answered.status == 200, answered.body
    found: dict[str, Any] = json.loads(answered.body)
    return found


async def no_poll(_: Signals) -> None:
    """Hear nothing from other processes."""


@pytest.mark.parametrize("is_used_before", [False, True])
def test_a_process_that_heard_of_no_change_seals_a_table_all_the_same(
    monkeypatch: pytest.MonkeyPatch, is_used_before: bool
) -> None:
    monkeypatch.setattr(Signals, "poll", no_poll)
    asyncio.run(write_and_look(is_used_before=is_used_before))


async def write_and_look(*, is_used_before: bool) -> None:
    """Write through a process that knows only what it has read itself."""
    played = PlayedCassandra()
    one, two = open_database(played), open_database(played)
    if is_used_before:
        await call(two, "ListTables")
    sealing = {"Enabled": True, "SSEType": "KMS"}
    await call(one, "CreateTable", SSESpecification=sealing, **TABLE)
    await call(two, "PutItem", TableName="Sealed", Item=ITEM)
    key = {"a": ITEM["a"]}
    for database in (one, two):
        found = await call(database, "GetItem", TableName="Sealed", Key=key, ConsistentRead=True)
        assert found == {"Item": ITEM}
    await two.do_due_work()
    found = await call(
        one,
        "Query",
        TableName="Sealed",
        IndexName="ByG",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "g"}},
    )
    assert found["Items"] == [ITEM]
    plain = [
        (place, address)
        for place, rows in played.partitions.items()
        for address, row in rows.items()
        if row[0] is not None and WORD.encode() in row[0]
    ]
    assert plain == []
    for database in (one, two):
        await database.close()
