"""Bulk loads: exact rows and tallies, invisible until the end, harmless when repeated."""

import asyncio
import random
from typing import Any

import pytest

from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.errors import ResourceInUseException, ResourceNotFoundException
from hashrange.model.keys import item_key
from hashrange.model.records import TableRecord, TimeToLive, make_table
from hashrange.model.values import Item, item_size
from hashrange.services.bulk_load import BulkLoad, Entry
from hashrange.storage.layout import pack_item
from hashrange.storage.table_check import TableCheck
from tests.harness.engines import faulty_engine
from tests.harness.loops import in_loop
from tests.harness.tables import ACCOUNT, REGION, Tables, index


@pytest.fixture(params=["memory", "cluster"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return MemoryEngine() if request.param == "memory" else faulty_engine(seed=5)


def record_of(engine: Engine, **settings: Any) -> tuple[Tables, TableRecord]:
    """Return the record of a table to be loaded: that of one created and deleted, renamed."""
    tables = Tables(engine=engine)
    tables.create(**settings)
    record = asyncio.run(tables.catalog.record(ACCOUNT, REGION, "table"))
    tables.call("DeleteTable", TableName="table")
    record.id, record.store = "another", "tnew"
    for found in record.indexes:
        found.store = "tindex" if found.is_global else "tnew.local"
    record.version = 0
    return tables, record


def item(number: int, **attributes: Any) -> Item:
    return {"a": {"S": f"p{number % 7}"}, "b": {"S": f"{number:05}"}, **attributes}


def entries(record: TableRecord, items: list[Item]) -> list[Entry]:
    table = make_table(record)
    return [(item_key(table.parts, found), pack_item(found, item_size(found))) for found in items]


async def findings(tables: Tables) -> list[str]:
    table = await tables.catalog.table(ACCOUNT, REGION, "table")
    check = TableCheck(tables.engine, table, lambda count: None)
    return [finding.text async for finding in check.findings()]


ALL_INDEXES: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("a", "b", "c", "d")
    ],
    "GlobalSecondaryIndexes": [index("global", "c", "a")],
    "LocalSecondaryIndexes": [index("local", "a", "d")],
}


def make_items(count: int, seed: int = 1) -> list[Item]:
    """Return items, about a third of which have a key that an earlier one has."""
    chance = random.Random(seed)
    return [
        item(
            chance.randrange(count * 2),
            **{name: {"S": f"{chance.randrange(9)}"} for name in "cd" if chance.random() < 0.7},
            t={"N": f"{chance.randrange(10**9)}"},
        )
        for _ in range(count)
    ]


def final_state(items: list[Item]) -> dict[tuple[str, str], Item]:
    return {(found["a"]["S"], found["b"]["S"]): found for found in items}


@pytest.mark.parametrize("settings", [{}, ALL_INDEXES], ids=["plain", "indexes"])
def test_a_load_leaves_rows_indexes_and_tallies_as_writes_do(
    engine: Engine, settings: dict[str, Any]
) -> None:
    tables, record = record_of(engine, **settings)
    record.time_to_live = TimeToLive("t", True, 0.0, 0.0, is_filled=True)
    items = make_items(400)

    async def load() -> None:
        loading = BulkLoad(engine, tables.catalog, record)
        await loading.begin()
        for start in range(0, len(items), 130):
            await loading.load(entries(record, items[start : start + 130]))
        await loading.finish()

    asyncio.run(load())
    assert tables.describe()["TableStatus"] == "ACTIVE"
    assert tables.describe()["ItemCount"] == len(final_state(items))
    assert tables.describe()["TableSizeBytes"] == sum(
        item_size(found) for found in final_state(items).values()
    )
    if engine.capabilities.indexes_in_step:  # of others the check knows only their tables
        assert asyncio.run(findings(tables)) == []


def test_a_load_that_is_repeated_in_part_changes_nothing(engine: Engine) -> None:
    tables, record = record_of(engine, **ALL_INDEXES)
    items = make_items(200)

    async def load() -> None:
        for end in (120, 200):  # a second process goes on after the first was killed
            loading = BulkLoad(engine, tables.catalog, record)
            await loading.begin()
            await loading.load(entries(record, items[:end]))
        await loading.finish()
        await loading.finish()

    asyncio.run(load())
    assert tables.describe()["ItemCount"] == len(final_state(items))
    indexed = sum("c" in found for found in final_state(items).values())
    assert tables.describe()["GlobalSecondaryIndexes"][0]["ItemCount"] == indexed


@in_loop
async def test_item_requests_do_not_find_a_table_that_is_being_loaded() -> None:
    tables, record = await asyncio.to_thread(record_of, MemoryEngine())
    loading = BulkLoad(tables.engine, tables.catalog, record)
    await loading.begin()
    await loading.load(entries(record, make_items(5)))
    found = await tables.catalog.record(ACCOUNT, REGION, "table")
    assert found.status(tables.clock.now()) == "CREATING"
    with pytest.raises(ResourceNotFoundException):
        await tables.catalog.table(ACCOUNT, REGION, "table")
    await loading.finish()
    assert (await tables.catalog.table(ACCOUNT, REGION, "table")).id == record.id


@in_loop
async def test_an_abandoned_load_leaves_nothing_and_a_complete_one_stays() -> None:
    tables, record = await asyncio.to_thread(record_of, MemoryEngine())
    loading = BulkLoad(tables.engine, tables.catalog, record)
    await loading.begin()
    await loading.load(entries(record, make_items(5)))
    await loading.abandon()
    assert await tables.catalog.find(ACCOUNT, REGION, "table") is None
    await loading.begin()
    await loading.finish()
    await loading.abandon()
    assert await tables.catalog.find(ACCOUNT, REGION, "table") is not None


@in_loop
async def test_a_load_never_touches_another_table_of_the_same_name() -> None:
    tables, record = await asyncio.to_thread(record_of, MemoryEngine())
    loading = BulkLoad(tables.engine, tables.catalog, record)
    await loading.begin()
    await loading.abandon()
    await asyncio.to_thread(tables.create)
    with pytest.raises(ResourceInUseException):
        await loading.begin()
    with pytest.raises(ResourceNotFoundException):
        await loading.load(entries(record, make_items(5)))
    await loading.abandon()
    assert await tables.catalog.find(ACCOUNT, REGION, "table") is not None
