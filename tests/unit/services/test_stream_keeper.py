"""The upkeep of streams: rolling and splitting of shards, and dropping what is too old."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.engine.memory.engine import Fault, MemoryEngine, PlannedFaults
from hashrange.errors import ConflictError, UnknownOutcomeError
from hashrange.services import stream_keeper as service
from hashrange.services.background import Background, Service
from hashrange.storage.streams import all_streams
from tests.harness.streams import StreamedTable, seen

HOUR = 3600.0


@pytest.fixture
def table() -> Iterator[StreamedTable]:
    made = StreamedTable()
    yield made
    made.close()


def rows_of(table: StreamedTable, prefix: bytes = b"") -> list[bytes]:
    """Return the keys of the rows in the stream's store that begin with a prefix."""
    engine: Any = table.database.engine.inner
    stores = [store for store in engine._stores if store not in ("catalog", "tokens")]
    found: list[bytes] = []
    for store in stores:
        rows = engine._stores[store].order
        found.extend(key for key in rows if key.startswith(prefix) and key[:1] in (b"m", b"r"))
    return found


def parents(shards: list[dict[str, Any]]) -> list[str | None]:
    return [shard.get("ParentShardId") for shard in shards]


def is_open(shard: dict[str, Any]) -> bool:
    return "EndingSequenceNumber" not in shard["SequenceNumberRange"]


def test_a_shard_is_rolled_over_to_its_child_every_four_hours(table: StreamedTable) -> None:
    table.put("k", n="0")
    (first,) = table.shards()
    waiting = table.iterator(first, "LATEST")
    table.clock.advance(4 * HOUR - 1)
    assert len(table.shards()) == 1
    waiting = table.iterator(first, "LATEST")
    table.clock.advance(1)
    table.put("k", n="1")
    old, new = table.shards()
    assert parents([old, new]) == [None, old["ShardId"]]
    assert old["ShardId"] < new["ShardId"]
    assert not is_open(old)
    assert is_open(new)
    ending = old["SequenceNumberRange"]["EndingSequenceNumber"]
    assert ending < new["SequenceNumberRange"]["StartingSequenceNumber"]
    assert [event for event, _ in seen(table.records(old))] == ["INSERT"]
    assert [event for event, _ in seen(table.records(new))] == ["MODIFY"]
    assert list(table.pages(waiting)) == [[]]  # the closed shard ended without another iterator
    assert "NextShardIterator" not in table.call("GetRecords", ShardIterator=waiting)
    children = table.describe(ShardFilter={"Type": "CHILD_SHARDS", "ShardId": old["ShardId"]})
    assert children["Shards"] == [new]


def test_shards_older_than_a_day_are_forgotten_with_all_their_rows(table: StreamedTable) -> None:
    for number in range(20):
        table.put("k", n=str(number))
        table.clock.advance(3 * HOUR)
    shards = table.shards()
    assert parents(shards)[1:] == [shard["ShardId"] for shard in shards[:-1]]
    assert len(shards) <= 8
    kept = [int(record["dynamodb"]["NewImage"]["n"]["S"]) for record in table.all_records()]
    assert kept == list(range(20))[-len(kept) :]
    assert len(kept) == 7  # those of the last 24 hours
    assert len(rows_of(table, b"r")) == 7
    numbers = {key[1:5] for key in rows_of(table, b"m")}
    assert len(numbers) <= len(shards) + 2


def test_a_shard_of_an_idle_stream_is_rolled_over_too(table: StreamedTable) -> None:
    for _ in range(10):
        table.clock.advance(4 * HOUR)
        table.call("ListStreams")
    shards = table.shards()
    assert [is_open(shard) for shard in shards] == [False] * (len(shards) - 1) + [True]
    assert len(rows_of(table)) <= 3 * (len(shards) + 2)


def test_the_store_of_a_disabled_stream_is_dropped_after_a_day(table: StreamedTable) -> None:
    table.put("k")
    table.set_stream(None)
    table.clock.advance(24 * HOUR - 1)
    table.call("ListTables")
    assert rows_of(table)
    table.clock.advance(1)
    table.call("ListTables")
    assert not rows_of(table)
    engine: Any = table.database.engine.inner
    assert not [key for key in engine._stores["catalog"].rows if key.startswith(b"s")]
    table.set_stream("KEYS_ONLY")
    table.put("again")
    assert seen(table.all_records()) == [("INSERT", "again")]


def test_old_records_are_dropped_in_small_pieces(
    table: StreamedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_CHUNK_ROWS", 7)
    for number in range(40):
        table.put(str(number))
    keeper = table.database._streams
    table.clock.advance(24 * HOUR)
    sizes = []

    async def drop() -> None:
        while await keeper.step():
            sizes.append(len(rows_of(table, b"r")))

    table.runner.run(drop())
    dropped = [before - after for before, after in zip([40, *sizes], sizes, strict=False)]
    assert max(dropped) == 7
    assert sizes[-1] == 0


def make_busy(table: StreamedTable, minutes: float) -> None:
    """Write two thousand items a second, as far as the upkeep can see."""
    for _ in range(int(minutes * 12)):
        for number in range(70):
            table.clock.advance(0.0005)
            table.put(str(number), n=str(int(table.clock.now() * 10_000)))
        table.clock.advance(5)
        table.call("ListTables")


def test_a_shard_that_stays_busy_is_split(table: StreamedTable) -> None:
    make_busy(table, 1.5)
    parent, left, right = table.shards()[:3]
    assert parents([left, right]) == [parent["ShardId"]] * 2
    make_busy(table, 0.5)
    latest: dict[str, list[str]] = {}
    for record in table.all_records():
        body = record["dynamodb"]
        latest.setdefault(body["Keys"]["p"]["S"], []).append(body["NewImage"]["n"]["S"])
    for history in latest.values():
        assert history == sorted(history, key=int)
        assert len(history) == len(set(history))
    both = [
        {record["dynamodb"]["Keys"]["p"]["S"] for record in table.records(shard)}
        for shard in (left, right)
    ]
    assert both[0]
    assert both[1]
    assert not both[0] & both[1]


def test_a_shard_that_is_busy_for_a_moment_is_not_split(table: StreamedTable) -> None:
    make_busy(table, 0.5)
    for _ in range(20):
        table.clock.advance(5)
        table.put("slow", n=str(table.clock.now()))
    make_busy(table, 0.5)
    assert len(table.shards()) == 1


def test_faults_of_the_engine_delay_the_upkeep_and_break_nothing() -> None:
    faults = [None, None, Fault.UNKNOWN_APPLIED, Fault.CONFLICT, Fault.REPEAT, Fault.UNKNOWN_LOST]
    engine = MemoryEngine()
    table = StreamedTable(engine=engine)
    keeper = table.database._streams
    for number in range(60):
        table.put("k", n=str(number))
        table.clock.advance(HOUR)
        engine._faults = PlannedFaults(writes=faults * 3)

        async def run() -> None:
            for _ in range(10):
                try:
                    await keeper.run_to_end()
                    return
                except (ConflictError, UnknownOutcomeError):
                    continue

        table.runner.run(run())
        engine._faults = None
    kept = [int(record["dynamodb"]["NewImage"]["n"]["S"]) for record in table.all_records()]
    assert kept == list(range(60 - len(kept), 60))
    assert len(kept) == 23
    table.close()


def test_the_upkeep_runs_as_a_service() -> None:
    table = StreamedTable()

    async def run() -> None:
        upkeep = Service("streams", table.database._streams.step, idle_seconds=0.01)
        background = Background(table.database.engine, [upkeep], [])
        service_task = asyncio.create_task(background.run())
        await asyncio.sleep(0)
        table.clock.advance(5 * HOUR)
        while len((await all_streams(table.database.engine))[0].shards) == 1:
            await asyncio.sleep(0.01)
        service_task.cancel()

    table.runner.run(asyncio.wait_for(run(), 10))
    table.close()
