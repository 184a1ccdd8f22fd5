"""The filling of new indexes: complete, counted once, resumable, whatever is written meanwhile."""

import asyncio
import contextlib
import random
from typing import Any

import pytest

from hashrange.engine.base import STRONG
from hashrange.engine.memory.engine import Fault, MemoryEngine, PlannedFaults
from hashrange.errors import EngineError, StaleVersionError
from hashrange.model.keys import index_key, item_key
from hashrange.model.schema import Table
from hashrange.model.values import Item, item_size
from hashrange.services import backfill as backfill_module
from hashrange.services.backfill import Backfill, Fill
from hashrange.storage.indexes import index_row
from hashrange.storage.layout import END_OF_KEYS, row_size, unpack_item
from hashrange.storage.transactions import write_item
from hashrange.storage.writes import DeleteWrite, GroupWrite, PutWrite
from tests.harness.tables import ACCOUNT, REGION, Tables, definitions, index

Rows = dict[bytes, bytes]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill_module, "_CHUNK_ROWS", 7)


async def table_of(tables: Tables) -> Table:
    return await tables.catalog.table(ACCOUNT, REGION, "table")


async def put(tables: Tables, item: Item) -> None:
    while True:
        table = await table_of(tables)
        key = item_key(table.parts, item)
        try:
            write = PutWrite(table, key, item, None, size=item_size(item))
            await write_item(tables.engine, write, 0.0)
            return
        except StaleVersionError:
            continue


async def delete(tables: Tables, item: Item) -> None:
    table = await table_of(tables)
    key = item_key(table.parts, item)
    await write_item(tables.engine, DeleteWrite(table, key, item, None), 0.0)


async def put_together(tables: Tables, items: list[Item]) -> None:
    table = await table_of(tables)
    writes = [
        PutWrite(table, item_key(table.parts, item), item, None, size=item_size(item))
        for item in items
    ]
    await tables.engine.write(GroupWrite(writes, is_transaction=True, now=0.0))


def item(number: int, **attributes: Any) -> Item:
    return {"a": {"S": f"p{number % 5}"}, "b": {"S": f"{number:04}"}, **attributes}


def create_index(tables: Tables, table: str = "table", **settings: Any) -> None:
    tables.call(
        "UpdateTable",
        TableName=table,
        AttributeDefinitions=definitions("c"),
        GlobalSecondaryIndexUpdates=[{"Create": index("new", "c", **settings)}],
    )


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


async def check_index(tables: Tables) -> int:
    """Check that the index is what its table makes it, and counted right; return its rows."""
    table = await table_of(tables)
    found = table.by_name["new"]
    expected: Rows = {}
    for row in (await rows_of(tables, table.store)).values():
        stored = unpack_item(row)
        key = index_key(found, table, stored)
        if key is not None:
            expected[key] = index_row(found, stored, row)
    assert await rows_of(tables, found.store) == expected
    size = sum(row_size(row) for row in expected.values())
    assert await tables.engine.tally(table.store, 1, found.store) == (len(expected), size)
    return len(expected)


def test_an_index_is_filled_with_what_was_there_before() -> None:
    tables = Tables()
    tables.create()

    async def fill() -> int:
        for number in range(50):
            await put(
                tables, item(number, c={"S": f"c{number % 3}"}) if number % 2 else item(number)
            )
        return 0

    asyncio.run(fill())
    create_index(tables, Projection={"ProjectionType": "KEYS_ONLY"})
    asyncio.run(tables.backfill.run_to_end())
    assert asyncio.run(check_index(tables)) == 25
    (described,) = tables.describe()["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "ACTIVE"
    assert described["ItemCount"] == 25


def test_progress_is_told_in_percent_until_it_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.services.backfill._PROGRESS_ITEMS", 10)
    tables = Tables()
    tables.create()

    async def fill() -> None:
        for number in range(50):
            await put(tables, item(number, c={"S": "c"}))

    asyncio.run(fill())
    create_index(tables)
    told: list[tuple[str, float]] = []
    tables.backfill.progressed = lambda fill, percent: told.append((fill[3], percent))
    asyncio.run(tables.backfill.run_to_end())
    assert {name for name, _ in told} == {"new"}
    percents = [percent for _, percent in told]
    assert percents == sorted(percents)
    assert percents[0] < 50
    assert percents[-1] == 100


def test_items_the_index_cannot_hold_are_left_out() -> None:
    tables = Tables()
    tables.create()

    async def fill() -> None:
        await put(tables, item(0, c={"N": "1"}))
        await put(tables, item(1, c={"S": ""}))
        await put(tables, item(2, c={"S": "x" * 2049}))
        await put(tables, item(3, c={"S": "x" * 2048}))
        await put(tables, item(4, c={"S": "x"}))

    asyncio.run(fill())
    create_index(tables)
    asyncio.run(tables.backfill.run_to_end())
    assert asyncio.run(check_index(tables)) == 2

    async def delete_all() -> None:
        for number in range(5):
            await delete(tables, item(number))

    asyncio.run(delete_all())
    assert asyncio.run(check_index(tables)) == 0


@pytest.mark.parametrize("seed", range(10))
def test_writes_between_the_chunks_neither_lose_nor_count_twice(seed: int) -> None:
    choose = random.Random(seed)
    tables = Tables()
    tables.create()

    async def write_some(count: int) -> None:
        for _ in range(count):
            number = choose.randrange(60)
            attributes = choose.choice(
                [{}, {"c": {"S": f"c{choose.randrange(4)}"}}, {"c": {"S": "c"}, "d": {"S": "long"}}]
            )
            act = choose.randrange(10)
            if act < 3:
                await delete(tables, item(number))
            elif act < 5:
                others = choose.sample(range(60), 3)
                await put_together(tables, [item(other, **attributes) for other in others])
            else:
                await put(tables, item(number, **attributes))

    async def fill() -> None:
        while await tables.backfill.step():
            await write_some(choose.randrange(8))

    asyncio.run(write_some(80))
    create_index(tables)
    asyncio.run(write_some(20))
    asyncio.run(fill())
    asyncio.run(check_index(tables))
    asyncio.run(write_some(40))
    asyncio.run(check_index(tables))


def test_a_fill_goes_on_where_it_was_cut_off() -> None:
    tables = Tables()
    tables.create()

    async def prepare() -> None:
        for number in range(30):
            await put(tables, item(number, c={"S": "c"}))

    async def begin() -> None:
        for _ in range(2):
            assert await tables.backfill.step()

    asyncio.run(prepare())
    create_index(tables)
    asyncio.run(begin())
    restarted = Backfill(tables.engine, tables.catalog, tables.clock)
    asyncio.run(restarted.run_to_end())
    assert asyncio.run(check_index(tables)) == 30


def test_two_processes_filling_the_same_index_do_no_harm() -> None:
    tables = Tables(engine=MemoryEngine(PlannedFaults(writes=[Fault.DELAY] * 200)))
    tables.create()

    async def run() -> None:
        for number in range(30):
            await put(tables, item(number, c={"S": "c"}))

    async def fill_twice() -> None:
        other = Backfill(tables.engine, tables.catalog, tables.clock)
        await asyncio.gather(tables.backfill.run_to_end(), other.run_to_end())

    asyncio.run(run())
    create_index(tables)
    asyncio.run(fill_twice())
    assert asyncio.run(check_index(tables)) == 30


def test_an_index_deleted_while_it_is_filled_leaves_nothing_behind() -> None:
    tables = Tables()
    tables.create()

    async def prepare() -> None:
        for number in range(30):
            await put(tables, item(number, c={"S": "c"}))

    asyncio.run(prepare())
    assert isinstance(tables.engine, MemoryEngine)
    before = set(tables.engine._stores)
    create_index(tables)
    asyncio.run(tables.backfill.step())
    tables.call(
        "UpdateTable",
        TableName="table",
        GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "new"}}],
    )
    asyncio.run(tables.backfill.run_to_end())
    assert set(tables.engine._stores) == before
    assert asyncio.run(tables.catalog.fills()) == []


def test_a_table_deleted_while_its_index_is_filled_leaves_nothing_behind() -> None:
    tables = Tables()
    tables.create("other")
    assert isinstance(tables.engine, MemoryEngine)
    before = set(tables.engine._stores)
    tables.create()
    create_index(tables)
    tables.call("DeleteTable", TableName="table")
    asyncio.run(tables.backfill.run_to_end())
    assert set(tables.engine._stores) == before
    assert asyncio.run(tables.catalog.fills()) == []


def test_a_small_index_does_not_wait_for_a_large_one_nor_for_one_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = Tables()
    for name in ("a-failing", "table", "z-small"):
        tables.create(name)

    async def prepare() -> None:
        for number in range(70):
            await put(tables, item(number, c={"S": "c"}))

    asyncio.run(prepare())
    for name in ("a-failing", "table", "z-small"):
        create_index(tables, table=name)
    fill_chunk = tables.backfill._fill_chunk

    async def fail(fill: Fill) -> bool:
        if fill[2] == "a-failing":
            raise EngineError("no answer")
        return await fill_chunk(fill)

    async def step() -> None:
        with contextlib.suppress(EngineError):
            await tables.backfill.step()

    monkeypatch.setattr(tables.backfill, "_fill_chunk", fail)
    for _ in range(6):
        asyncio.run(step())
    states = {
        name: tables.describe(name)["GlobalSecondaryIndexes"][0]["IndexStatus"]
        for name in ("a-failing", "table", "z-small")
    }
    assert states == {"a-failing": "CREATING", "table": "CREATING", "z-small": "ACTIVE"}


def test_nothing_to_do_costs_no_read(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables()
    tables.create()
    assert asyncio.run(tables.backfill.step()) == 0

    async def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a read")

    monkeypatch.setattr(tables.engine, "range", refuse)
    monkeypatch.setattr(tables.engine, "read", refuse)
    assert asyncio.run(tables.backfill.step()) == 0
