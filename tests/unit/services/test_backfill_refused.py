"""A fill whose steps are refused goes on with the same items, and a new index starts anew."""

import asyncio

import pytest

from hashrange.engine.base import STRONG
from hashrange.engine.memory.engine import Fault, MemoryEngine
from hashrange.errors import ConflictError
from hashrange.model.keys import item_key
from hashrange.model.values import item_size
from hashrange.services.backfill import Backfill
from hashrange.storage.layout import END_OF_KEYS
from hashrange.storage.transactions import write_item
from hashrange.storage.writes import PutWrite
from tests.harness.tables import ACCOUNT, REGION, Tables, definitions, index

ITEMS = 5


class NextFaults:
    """Faults that a test plans as it goes."""

    def __init__(self) -> None:
        self.writes: list[Fault | None] = []

    def for_read(self) -> Fault | None:
        return None

    def for_write(self) -> Fault | None:
        return self.writes.pop(0) if self.writes else None


def table_with_items(faults: NextFaults) -> Tables:
    tables = Tables(engine=MemoryEngine(faults))
    tables.create()

    async def fill() -> None:
        table = await tables.catalog.table(ACCOUNT, REGION, "table")
        for number in range(ITEMS):
            item = {"a": {"S": "p"}, "b": {"S": f"{number}"}, "c": {"S": "c"}}
            write = PutWrite(table, item_key(table.parts, item), item, None, size=item_size(item))
            await write_item(tables.engine, write, 0.0)

    asyncio.run(fill())
    return tables


def change_index(tables: Tables, **change: object) -> None:
    tables.call(
        "UpdateTable",
        TableName="table",
        AttributeDefinitions=definitions("c"),
        GlobalSecondaryIndexUpdates=[change],
    )


def entries_of_index(tables: Tables) -> int:
    async def count() -> int:
        table = await tables.catalog.table(ACCOUNT, REGION, "table")
        assert table.by_name["new"].queryable
        rows, _ = await tables.engine.range(
            table.by_name["new"].store,
            0,
            b"",
            END_OF_KEYS,
            reverse=False,
            rows_max=1 << 30,
            bytes_max=1 << 30,
            consistency=STRONG,
        )
        return len(rows)

    return asyncio.run(count())


@pytest.mark.parametrize("refused", [0, 1], ids=["the last chunk", "the end"])
def test_a_refused_step_is_done_again(refused: int) -> None:
    faults = NextFaults()
    tables = table_with_items(faults)
    change_index(tables, Create=index("new", "c"))
    faults.writes = [*[None] * refused, Fault.CONFLICT]
    with pytest.raises(ConflictError):
        asyncio.run(tables.backfill.run_to_end())
    asyncio.run(tables.backfill.run_to_end())
    assert entries_of_index(tables) == ITEMS


def test_an_index_made_again_under_the_same_name_is_filled_from_the_beginning() -> None:
    faults = NextFaults()
    tables = table_with_items(faults)
    change_index(tables, Create=index("new", "c"))
    backfill = Backfill(tables.engine, tables.catalog, tables.clock)
    faults.writes = [None, Fault.CONFLICT]
    with pytest.raises(ConflictError):
        asyncio.run(backfill.run_to_end())
    change_index(tables, Delete={"IndexName": "new"})
    change_index(tables, Create=index("new", "c"))
    asyncio.run(backfill.run_to_end())
    assert entries_of_index(tables) == ITEMS
