"""Expiry: what has expired goes, all of it goes, and nothing else does."""

import asyncio
import itertools
import random
from typing import Any

import pytest

from hashrange.engine.base import STRONG, Changes
from hashrange.engine.memory.engine import Fault, MemoryEngine, PlannedFaults
from hashrange.errors import ConflictError, StaleVersionError, UnknownOutcomeError
from hashrange.limits import EXPIRED_SECONDS_MAX
from hashrange.model.keys import decode_key, index_key, item_key
from hashrange.model.schema import Table
from hashrange.model.values import Item, item_size
from hashrange.services import backfill as backfill_module
from hashrange.services import expiry as expiry_module
from hashrange.services.backfill import Backfill
from hashrange.services.expiry import Expiry
from hashrange.storage.catalog import Delays
from hashrange.storage.expire_write import ExpireWrite
from hashrange.storage.expiry import expired_seconds, expiry_key, expiry_second
from hashrange.storage.layout import END_OF_KEYS, row_size, unpack_item, unpack_tally
from hashrange.storage.transactions import write_item
from hashrange.storage.writes import DeleteWrite, GroupWrite, PutWrite
from tests.harness.tables import ACCOUNT, REGION, Tables, definitions, index

ON = {"AttributeName": "x", "Enabled": True}
OFF = {"AttributeName": "x", "Enabled": False}
NOW = 1_700_000_000  # where the clock of Tables stands

Rows = dict[bytes, bytes]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry_module, "_CHUNK_ROWS", 7)
    monkeypatch.setattr(backfill_module, "_CHUNK_ROWS", 7)


class Expiring(Tables):
    """Tables with the service that lets their items expire."""

    def __init__(self, delays: Delays | None = None, engine: MemoryEngine | None = None) -> None:
        super().__init__(delays, engine)
        self.expiry = Expiry(self.engine, self.catalog, self.clock)

    def enable(self, name: str = "table") -> None:
        self.call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=ON)
        self.run_to_end()

    def disable(self, name: str = "table") -> None:
        self.call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=OFF)

    def status(self, name: str = "table") -> str:
        description = self.call("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"]
        return str(description["TimeToLiveStatus"])

    def run_to_end(self) -> None:
        async def run() -> None:
            await self.backfill.run_to_end()
            await self.expiry.run_to_end()

        asyncio.run(run())

    def put(self, *items: Item, name: str = "table") -> None:
        async def put_all() -> None:
            for item in items:
                await put(self, item, name)

        asyncio.run(put_all())

    def numbers(self, name: str = "table") -> list[int]:
        """Return which items there are, after checking all that is derived from them."""
        return asyncio.run(check(self, name))


async def table_of(tables: Tables, name: str = "table") -> Table:
    return await tables.catalog.table(ACCOUNT, REGION, name)


async def put(tables: Tables, item: Item, name: str = "table") -> None:
    while True:
        table = await table_of(tables, name)
        key = item_key(table.parts, item)
        try:
            await write_item(
                tables.engine, PutWrite(table, key, item, None, size=item_size(item)), 0
            )
            return
        except StaleVersionError:
            continue


def item(number: int, time: object = None, **attributes: Any) -> Item:
    """Return an item with a time given as a number of seconds, or as a value."""
    made = {"a": {"S": f"p{number % 3}"}, "b": {"S": f"{number:04}"}, **attributes}
    if time is not None:
        made["x"] = time if isinstance(time, dict) else {"N": str(time)}
    return made


async def rows_of(tables: Tables, store: str) -> Rows:
    rows, ended = await tables.engine.range(
        store,
        0,
        b"",
        END_OF_KEYS,
        reverse=False,
        rows_max=1 << 30,
        bytes_max=1 << 40,
        consistency=STRONG,
    )
    assert ended
    return {key: row for key, row in rows if key}  # at the empty key is the position of a fill


async def check(tables: Tables, name: str = "table") -> list[int]:
    """Check expiry rows, index rows, counts and item collections; return the items' numbers."""
    table = await table_of(tables, name)
    rows = await rows_of(tables, table.store)
    items = {key: unpack_item(row) for key, row in rows.items()}
    size = sum(row_size(row) for row in rows.values())
    assert await tables.engine.tally(table.store, 1, table.store) == (len(rows), size)
    expected = set()
    for key, stored in items.items():
        second = expiry_second(stored.get(table.time_to_live or ""))
        if second is not None:
            expected.add(expiry_key(second, key))
    assert set(await rows_of(tables, table.expiry_store)) == expected
    local_bytes = 0
    for found in table.indexes:
        entries = await rows_of(tables, found.store)
        keys = {index_key(found, table, stored) for stored in items.values()} - {None}
        assert set(entries) == keys
        size_of_index = sum(row_size(row) for row in entries.values())
        assert await tables.engine.tally(table.store, 1, found.store) == (
            len(entries),
            size_of_index,
        )
        local_bytes += 0 if found.is_global else size_of_index
    if table.local_indexes:
        collections = await rows_of(tables, table.collections_store)
        assert sum(map(unpack_tally, collections.values())) == size + local_bytes
    return sorted(int(stored["b"]["S"]) for stored in items.values())


def made(delays: Delays | None = None, **settings: Any) -> Expiring:
    tables = Expiring(delays)
    tables.create(**settings)
    return tables


def test_items_go_when_their_time_has_passed() -> None:
    tables = made()
    tables.enable()
    tables.put(item(1, NOW + 10), item(2, NOW + 20), item(3), item(4, NOW + 20))
    for seconds, left in ((10, [1, 2, 3, 4]), (1, [2, 3, 4]), (9, [2, 3, 4]), (1, [3])):
        tables.clock.advance(seconds)
        tables.run_to_end()
        assert tables.numbers() == left


def test_an_item_written_after_its_time_stays_until_the_next_second() -> None:
    tables = made()
    tables.enable()
    tables.put(item(1, NOW - 10))
    tables.run_to_end()
    assert tables.numbers() == [1]
    tables.clock.advance(1)
    tables.run_to_end()
    assert tables.numbers() == []


def test_what_is_no_time_or_one_long_past_stays() -> None:
    tables = made()
    tables.enable()
    tables.put(
        item(1, {"S": str(NOW - 10)}),
        item(2, NOW * 1000),
        item(3, -5),
        item(4, NOW - EXPIRED_SECONDS_MAX),
        item(5, 0),
        item(6, {"M": {"N": {"N": str(NOW - 10)}}}),
        item(7, "1" + "0" * 30),
        item(8, f"{NOW - 10}.5"),
    )
    tables.clock.advance(1)
    tables.run_to_end()
    assert tables.numbers() == [1, 2, 3, 4, 5, 6, 7]


def test_many_items_go_chunk_by_chunk() -> None:
    tables = made()
    tables.enable()
    tables.put(*[item(number, NOW + number % 40) for number in range(100)])
    tables.clock.advance(20.5)
    tables.run_to_end()
    assert tables.numbers() == [number for number in range(100) if number % 40 > 20]


def test_a_chunk_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry_module, "_CHUNK_ROWS", 100)
    monkeypatch.setattr(expiry_module, "_CHUNK_BYTES", 10_000)
    tables = made()
    tables.enable()
    large = {"S": "x" * 1000}
    tables.put(*[item(number, NOW + 1, c=large) for number in range(35)])
    tables.clock.advance(2)
    for left in (25, 15, 5, 0):
        asyncio.run(tables.expiry.step())
        assert len(tables.numbers()) == left


def test_indexes_and_item_collections_shrink_with_the_table() -> None:
    tables = made(
        AttributeDefinitions=definitions("a", "b", "c"),
        LocalSecondaryIndexes=[index("local", "a", "c")],
        GlobalSecondaryIndexes=[
            index("all", "c"),
            index("keys", "c", "b", Projection={"ProjectionType": "KEYS_ONLY"}),
        ],
    )
    tables.enable()
    tables.put(*[item(number, NOW + number, c={"S": f"c{number % 4}"}) for number in range(30)])
    tables.put(*[item(number, NOW + number) for number in range(30, 40)])
    tables.clock.advance(35)
    tables.run_to_end()
    assert tables.numbers() == [35, 36, 37, 38, 39]
    tables.clock.advance(10)
    tables.run_to_end()
    assert tables.numbers() == []
    assert tables.describe()["ItemCount"] == 0


def test_an_index_may_be_filled_while_items_expire() -> None:
    tables = made()
    tables.enable()
    tables.put(*[item(number, NOW + number % 7, c={"S": "c"}) for number in range(60)])
    tables.call(
        "UpdateTable",
        TableName="table",
        AttributeDefinitions=definitions("c"),
        GlobalSecondaryIndexUpdates=[{"Create": index("new", "c")}],
    )

    async def run() -> None:
        working = 1
        while working:
            tables.clock.advance(0.5)
            working = await tables.backfill.step()
            await tables.expiry.step()

    asyncio.run(run())
    tables.run_to_end()
    tables.clock.advance(10)
    tables.run_to_end()
    assert tables.numbers() == []


def test_enabling_finds_the_items_that_were_there_before() -> None:
    tables = made()
    tables.put(*[item(number, NOW - 30 + number) for number in range(60)])
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ON)
    assert tables.status() == "ENABLING"
    asyncio.run(tables.expiry.run_to_end())
    assert len(asyncio.run(rows_of(tables, asyncio.run(table_of(tables)).store))) == 60
    tables.run_to_end()
    assert tables.status() == "ENABLED"
    assert tables.numbers() == list(range(30, 60))


def test_an_empty_table_is_enabled_at_once() -> None:
    tables = made()
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ON)
    assert tables.status() == "ENABLED"
    assert asyncio.run(tables.catalog.fills()) == []


def test_filling_goes_on_where_it_was_cut_off() -> None:
    tables = made()
    tables.put(*[item(number, NOW - 1) for number in range(30)])
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ON)
    asyncio.run(tables.backfill.step())
    tables.backfill = Backfill(tables.engine, tables.catalog, tables.clock)
    asyncio.run(tables.backfill.step())
    assert len(asyncio.run(rows_of(tables, asyncio.run(table_of(tables)).expiry_store))) == 14
    tables.run_to_end()
    assert tables.numbers() == []


def test_nothing_is_deleted_before_the_setting_takes_effect() -> None:
    tables = made(Delays(time_to_live_seconds=60))
    tables.put(item(1, NOW + 1))
    tables.enable()
    tables.clock.advance(59)
    tables.run_to_end()
    assert tables.numbers() == [1]
    tables.clock.advance(1)
    tables.run_to_end()
    assert tables.numbers() == []


def test_nothing_is_deleted_once_it_is_disabled() -> None:
    tables = made()
    tables.enable()
    tables.put(item(1, NOW + 1))
    tables.disable()
    tables.clock.advance(10)
    tables.run_to_end()
    assert tables.numbers() == [1]
    assert asyncio.run(tables.catalog.expiring()) == []


def test_it_can_be_enabled_again_with_another_attribute() -> None:
    tables = made()
    tables.enable()
    tables.put(item(1, NOW + 1), item(2, y={"N": str(NOW + 1)}), item(3, NOW + 100))
    tables.disable()
    tables.put(item(3, NOW + 1, y={"N": str(NOW + 100)}))
    specification = {"AttributeName": "y", "Enabled": True}
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=specification)
    tables.run_to_end()
    tables.clock.advance(10)
    tables.run_to_end()
    assert tables.numbers() == [1, 3]


def test_disabling_while_it_is_filled_leaves_nothing_behind() -> None:
    tables = made()
    tables.put(*[item(number, NOW - 1) for number in range(30)])
    assert isinstance(tables.engine, MemoryEngine)
    before = set(tables.engine._stores)
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ON)
    asyncio.run(tables.backfill.step())
    tables.disable()
    tables.run_to_end()
    assert set(tables.engine._stores) == before
    assert asyncio.run(tables.catalog.fills()) == []
    assert len(tables.numbers()) == 30


@pytest.mark.parametrize("delay", [0.0, 5.0])
def test_deleting_the_table_leaves_nothing_behind(delay: float) -> None:
    tables = Expiring(Delays(delete_seconds=delay))
    tables.create("other")
    assert isinstance(tables.engine, MemoryEngine)
    before = set(tables.engine._stores)
    tables.create()
    tables.put(item(1, NOW - 1))
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ON)
    tables.call("DeleteTable", TableName="table")
    tables.run_to_end()
    assert set(tables.engine._stores) == before
    assert asyncio.run(tables.catalog.fills()) == []
    assert asyncio.run(tables.catalog.expiring()) == []


def test_a_delay_leaves_expired_items_for_as_long() -> None:
    tables = made()
    tables.enable()
    tables.expiry = Expiry(tables.engine, tables.catalog, tables.clock, 100.0)
    tables.put(item(1, NOW + 1))
    tables.clock.advance(101)
    tables.run_to_end()
    assert tables.numbers() == [1]
    tables.clock.advance(0.5)
    tables.run_to_end()
    assert tables.numbers() == []


def test_many_tables_are_swept_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry_module, "_TABLES_PER_STEP", 3)
    tables = Expiring()
    names = [f"table{number}" for number in range(10)]
    for name in names:
        tables.create(name)
        tables.enable(name)
        tables.put(*[item(number, NOW + 1) for number in range(20)], name=name)
    tables.clock.advance(2)
    for _ in names:
        asyncio.run(tables.expiry.step())
    assert [len(tables.numbers(name)) for name in names] == [20 - 7] * 10
    tables.run_to_end()
    assert [tables.numbers(name) for name in names] == [[]] * 10


def test_a_deletion_that_fails_is_made_up_for() -> None:
    faults = [None] * 36 + [Fault.CONFLICT, Fault.UNKNOWN_LOST, Fault.UNKNOWN_APPLIED, Fault.REPEAT]
    tables = Expiring(engine=MemoryEngine(PlannedFaults(writes=faults)))
    tables.create()
    tables.enable()
    tables.put(*[item(number, NOW + 1) for number in range(33)])
    tables.clock.advance(2)
    failures = 0
    while tables.numbers():
        try:
            tables.run_to_end()
        except (ConflictError, UnknownOutcomeError):
            failures += 1
    assert failures == 3


def test_an_expiry_row_left_behind_does_no_harm_and_goes() -> None:
    tables = made()
    tables.enable()
    tables.put(item(1, NOW + 100))

    class _Stray:
        fences = ()

        def __init__(self, table: Table, keys: list[bytes]) -> None:
            self.keys = [(table.expiry_store, 0, expiry_key(NOW - 5, key)) for key in keys]
            self._puts = [(*key, b"") for key in self.keys]

        def decide(self, rows: object) -> Changes:
            changes = Changes()
            changes.puts = self._puts
            return changes

    async def stray() -> None:
        table = await table_of(tables)
        keys = [item_key(table.parts, item(number)) for number in (1, 2)]
        await tables.engine.write(_Stray(table, keys))

    asyncio.run(stray())
    tables.clock.advance(1)
    tables.run_to_end()
    assert tables.numbers() == [1]


def test_what_was_renewed_between_looking_and_deleting_stays() -> None:
    tables = made()
    tables.enable()
    tables.put(*[item(number, NOW - 1) for number in range(4)])

    async def race() -> None:
        table = await table_of(tables)
        keys = [item_key(table.parts, item(number)) for number in range(4)]
        expired = expired_seconds(NOW + 1)
        writes = [ExpireWrite(table, key, expired, expiry_key(NOW - 1, key)) for key in keys]
        await put(tables, item(0, NOW + 100))  # renewed
        await put(tables, item(1))  # without a time now
        await write_item(tables.engine, DeleteWrite(table, keys[2], item(2), None), 0)
        await put(tables, item(2, NOW + 1))  # written anew
        outcomes = await tables.engine.write(GroupWrite(writes, is_transaction=False, now=0))
        assert isinstance(outcomes, list)
        assert [outcome.matched for outcome in outcomes] == [False, False, False, True]

    asyncio.run(race())
    assert tables.numbers() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(12))
def test_under_random_writes_exactly_the_expired_items_go(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes and time interleave with filling and sweeping, step by step and within a step."""
    choose = random.Random(seed)
    delays = itertools.cycle([Fault.DELAY, None, Fault.DELAY, Fault.REPEAT])
    engine = MemoryEngine(PlannedFaults(writes=delays, reads=itertools.cycle([Fault.DELAY])))
    tables = Expiring(engine=engine)
    tables.create(
        AttributeDefinitions=definitions("a", "b", "c"),
        LocalSecondaryIndexes=[index("local", "a", "c")],
        GlobalSecondaryIndexes=[index("all", "c")],
    )
    model: dict[int, Item] = {}

    async def write(number: int, time: object) -> None:
        written = item(number, time, c={"S": f"c{choose.randrange(3)}"})
        model[number] = written
        await put(tables, written)

    async def write_some(count: int) -> None:
        for _ in range(count):
            number = choose.randrange(50)
            now = int(tables.clock.now())
            time = choose.choice([None, now - 3, now + 2, now + 40, {"S": "1"}])
            await write(number, time)

    look = engine.range

    async def look_and_renew(store: str, *bounds: Any, **settings: Any) -> Any:
        """Renew what was found, now and then, before its finder can delete it."""
        rows, ended = await look(store, *bounds, **settings)
        if store.endswith("x"):
            for key, _ in rows:
                if choose.randrange(4) == 0:
                    _, sort = decode_key(["S", "S"], key[8:])
                    await write(int(sort["S"]), int(tables.clock.now()) + 40)
        return rows, ended

    async def sweep(turns: int) -> None:
        for _ in range(turns):
            await tables.backfill.step()
            await tables.expiry.step()

    async def live() -> None:
        for _ in range(12):
            await asyncio.gather(write_some(choose.randrange(12)), sweep(choose.randrange(6)))
            tables.clock.advance(choose.choice([0, 0.5, 1, 3]))

    asyncio.run(write_some(40))
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ON)
    with monkeypatch.context() as patched:
        patched.setattr(engine, "range", look_and_renew)
        asyncio.run(live())
    present = set(tables.numbers())
    for number, written in model.items():
        second = expiry_second(written.get("x"))
        if second is None or second >= tables.clock.now():
            assert number in present, "an item went that was not expired"
    tables.clock.advance(1)
    tables.run_to_end()
    now = tables.clock.now()
    left = {
        number
        for number, written in model.items()
        if (second := expiry_second(written.get("x"))) is None or second >= now
    }
    assert set(tables.numbers()) == left


def test_nothing_to_do_costs_no_read(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = made()
    tables.enable()

    async def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a read")

    monkeypatch.setattr(tables.engine, "range", refuse)
    monkeypatch.setattr(tables.engine, "read", refuse)
    assert asyncio.run(tables.expiry.step()) == 0
