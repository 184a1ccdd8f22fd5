"""Background services pick up what a process that died has left, and do no harm when repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.engine.base import Changes
from hashrange.engine.memory.faults import Rates
from hashrange.limits import SHARD_SECONDS
from hashrange.model.schema import QUEUE
from hashrange.services.index_follower import IndexFollower
from hashrange.storage import catalog, catalog_followup
from tests.cluster.bank import SCHEMA, TABLES, Bank, key_of

QUIET = Rates(0, 0, 0, delay=0.3, repeat=0.3, stale=0, lost_lease=0)


@pytest.fixture
def bank() -> Iterator[Bank]:
    made = Bank(0, QUIET)
    with made.scheduler:
        made.scheduler.finish(made.open())
        yield made


def run(bank: Bank, operation: str, **request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = bank.scheduler.finish(bank.call(0, operation, **request))
    return answer


def queued(bank: Bank) -> int:
    """Return how many rows are in the queues of index changes."""
    return sum(
        len(bank.scheduler.finish(bank.rows(store, shard)))
        for store in bank.engine.stores()
        if store.endswith(QUEUE)
        for shard in range(bank.engine.capabilities.shards)
    )


async def forget_sequel(engine: object, sequel: catalog_followup.Sequel) -> None:
    """Die after the catalog has changed."""


def test_indexes_lag_until_they_are_followed(bank: Bank) -> None:
    assert run(bank, "Scan", TableName="left", IndexName="global")["Count"] == 0
    assert queued(bank) == len(bank.accounts)
    bank.scheduler.finish(bank.settle())
    assert run(bank, "Scan", TableName="left", IndexName="global")["Count"] == 5
    assert queued(bank) == 0


def test_followers_at_once_and_again_change_nothing(bank: Bank) -> None:
    followers = [IndexFollower(bank.engine, front.catalog) for front in bank.fronts]
    bank.scheduler.run({f"f{n}": follower.run_to_end() for n, follower in enumerate(followers)})
    bank.scheduler.finish(bank.check())


def test_changes_of_a_deleted_index_are_dropped(bank: Bank) -> None:
    updates = [{"Delete": {"IndexName": "global"}}]
    run(bank, "UpdateTable", TableName="left", GlobalSecondaryIndexUpdates=updates)
    definition = {**SCHEMA["GlobalSecondaryIndexes"][0], "IndexName": "late"}
    run(
        bank,
        "UpdateTable",
        TableName="left",
        AttributeDefinitions=SCHEMA["AttributeDefinitions"],
        GlobalSecondaryIndexUpdates=[{"Create": definition}],
    )
    bank.scheduler.finish(bank.settle())
    bank.scheduler.finish(bank.check())


def test_a_deleted_table_leaves_no_stores_but_that_of_its_stream(bank: Bank) -> None:
    before = set(bank.engine.stores())
    run(bank, "DeleteTable", TableName="left")
    left = set(bank.engine.stores())
    spaces = {store.partition(".")[0] for store in before - left}
    assert len(spaces) == 2  # the table and its global index
    assert len([store for store in left if store.partition(".")[0] in spaces]) == 1


def test_marks_of_a_process_that_died_are_made_by_the_stream_keeper(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "follow_up", forget_sequel)
        bank.clock.advance(SHARD_SECONDS)
        bank.scheduler.finish(bank.fronts[0]._streams.step())
    described = run(bank, "DescribeTable", TableName="left")["Table"]

    def shards() -> list[dict[str, Any]]:
        stream = run(bank, "DescribeStream", StreamArn=described["LatestStreamArn"])
        found: list[dict[str, Any]] = stream["StreamDescription"]["Shards"]
        return found

    assert len(shards()) == 8
    assert not any("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in shards())
    # Its records can be read, but nobody is told that the shard has ended.
    parent = next(shard for shard in shards() if "ParentShardId" not in shard)
    iterator = run(
        bank,
        "GetShardIterator",
        StreamArn=described["LatestStreamArn"],
        ShardId=parent["ShardId"],
        ShardIteratorType="TRIM_HORIZON",
    )["ShardIterator"]
    assert "NextShardIterator" in run(bank, "GetRecords", ShardIterator=iterator)
    bank.scheduler.finish(bank.fronts[1].do_due_work())
    assert sum("EndingSequenceNumber" in s["SequenceNumberRange"] for s in shards()) == 4
    assert "NextShardIterator" not in run(bank, "GetRecords", ShardIterator=iterator)
    for table, name in bank.accounts:
        run(bank, "PutItem", TableName=table, Item=key_of(name) | {"g": {"S": "g"}})
    for table in TABLES:
        assert len(bank.scheduler.finish(bank.records(table))) == 10


def test_an_index_is_filled_though_the_process_that_made_it_died_before_the_fence(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = {**SCHEMA["GlobalSecondaryIndexes"][0], "IndexName": "late"}
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "follow_up", forget_sequel)
        run(
            bank,
            "UpdateTable",
            TableName="left",
            AttributeDefinitions=SCHEMA["AttributeDefinitions"],
            GlobalSecondaryIndexUpdates=[{"Create": definition}],
        )
    bank.scheduler.finish(bank.settle())
    bank.scheduler.finish(bank.check())


def test_a_lock_without_a_ledger_entry_holds_nobody_up(bank: Bank) -> None:
    update = {
        "TableName": "left",
        "Key": key_of("account 0"),
        "UpdateExpression": "SET x = :x",
        "ExpressionAttributeValues": {":x": {"S": "lost"}},
    }
    process = bank.call(
        0, "TransactWriteItems", TransactItems=[{"Update": update}], ClientRequestToken="token"
    )
    locks = [store for store in bank.engine.stores() if store.endswith(".k")]

    def is_locked() -> bool:
        return any(
            bank.scheduler.finish(bank.rows(store, shard)) for store in locks for shard in range(4)
        )

    while not is_locked():
        process.send(None)
    process.close()
    for store in ("ledger", "ledger.o"):
        for shard in range(16):
            for key, _ in bank.scheduler.finish(bank.rows(store, shard)):
                bank.scheduler.finish(bank.engine.write(Deletion((store, shard, key))))
    got = run(bank, "GetItem", TableName="left", Key=key_of("account 0"), ConsistentRead=True)
    assert "x" not in got["Item"]
    run(bank, "UpdateItem", **update | {"ExpressionAttributeValues": {":x": {"S": "kept"}}})
    assert not is_locked()


class Deletion:
    """The decision that deletes a row."""

    fences = ()

    def __init__(self, key: tuple[str, int, bytes]) -> None:
        self.keys = (key,)

    def decide(self, rows: Any) -> Changes:
        changes = Changes()
        changes.deletes.extend(self.keys)
        return changes
