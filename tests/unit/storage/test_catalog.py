"""The catalog: fast and fresh on the data path, atomic when it changes."""

import asyncio

import pytest

from hashrange.engine.memory.engine import Fault, MemoryEngine, PlannedFaults
from hashrange.errors import (
    AccessDeniedException,
    CorruptionError,
    LimitExceededException,
    ResourceNotFoundException,
    StaleVersionError,
    ValidationException,
)
from hashrange.model.keys import item_key
from hashrange.model.records import unpack_record
from hashrange.model.schema import Table
from hashrange.model.values import item_size
from hashrange.storage import catalog as catalog_module
from hashrange.storage.catalog import Catalog, Delays
from hashrange.storage.transactions import write_item
from hashrange.storage.writes import PutWrite
from tests.harness.tables import ACCOUNT, REGION, Tables, definitions, index


def table_of(tables: Tables, name: str = "table") -> Table:
    return asyncio.run(tables.catalog.table(ACCOUNT, REGION, name))


def test_a_table_is_built_once_and_found_by_name_and_arn() -> None:
    tables = Tables()
    arn = tables.create()["TableArn"]
    table = table_of(tables)
    assert table_of(tables) is table
    assert table_of(tables, arn) is table


def test_a_change_elsewhere_moves_the_counter_but_keeps_the_table() -> None:
    tables = Tables()
    tables.create()
    table = table_of(tables)
    counter = tables.engine.counter()
    tables.create("other")
    assert tables.engine.counter() > counter
    assert table_of(tables) is table


def test_a_change_of_one_table_does_not_refuse_writes_to_another() -> None:
    tables = Tables()
    tables.create()
    tables.create("other")
    table, other = table_of(tables), table_of(tables, "other")
    tables.call(
        "UpdateTimeToLive",
        TableName="other",
        TimeToLiveSpecification={"AttributeName": "x", "Enabled": True},
    )
    key = {"a": {"S": "p"}, "b": {"S": "s"}}

    async def put(into: Table) -> None:
        write = PutWrite(into, item_key(into.parts, key), key, None, size=item_size(key))
        await write_item(tables.engine, write, 0.0)

    asyncio.run(put(table))
    with pytest.raises(StaleVersionError):
        asyncio.run(put(other))
    asyncio.run(put(table_of(tables, "other")))


def test_a_change_made_by_another_process_is_seen() -> None:
    tables = Tables()
    tables.create()
    table = table_of(tables)
    other = Tables(engine=tables.engine)
    other.call(
        "UpdateTable",
        TableName="table",
        AttributeDefinitions=definitions("c"),
        GlobalSecondaryIndexUpdates=[{"Create": index("new", "c")}],
    )
    changed = table_of(tables)
    assert changed is not table
    assert not changed.by_name["new"].queryable
    assert changed.filling == (changed.by_name["new"],)
    other.call("DeleteTable", TableName="table")
    with pytest.raises(ResourceNotFoundException, match=r"^Requested resource not found$"):
        table_of(tables)


def test_a_deleted_and_recreated_table_is_a_new_table() -> None:
    tables = Tables()
    tables.create()
    first = table_of(tables)
    tables.call("DeleteTable", TableName="table")
    tables.create()
    second = table_of(tables)
    assert second.store != first.store
    assert second.id != first.id


def test_a_table_is_not_there_for_requests_while_it_is_created_or_deleted() -> None:
    tables = Tables(Delays(create_seconds=5, delete_seconds=5))
    tables.create()
    with pytest.raises(ResourceNotFoundException, match=r"^Requested resource not found$"):
        table_of(tables)
    tables.clock.advance(5)
    table_of(tables)
    tables.call("DeleteTable", TableName="table")
    with pytest.raises(ResourceNotFoundException, match=r"^Requested resource not found$"):
        table_of(tables)


def test_worlds_do_not_see_one_another() -> None:
    tables = Tables()
    tables.create()
    for account, region in ((ACCOUNT, "eu-west-1"), ("111111111111", REGION)):
        with pytest.raises(ResourceNotFoundException):
            asyncio.run(tables.catalog.table(account, region, "table"))
        names = asyncio.run(tables.catalog.names(account, region, after=None, names_max=10))
        assert names == ([], False)


def test_names_that_cannot_be_are_told_apart() -> None:
    tables = Tables()
    with pytest.raises(ValidationException, match="between 3 and 255 characters"):
        table_of(tables, "ab")
    with pytest.raises(AccessDeniedException):
        table_of(tables, "arn:aws:dynamodb:us-east-1:111111111111:table/table")
    with pytest.raises(ResourceNotFoundException):
        table_of(tables, "arn:aws:dynamodb:eu-west-1:000000000000:table/table")


def test_stores_come_and_go_with_their_table() -> None:
    tables = Tables()
    tables.create(
        LocalSecondaryIndexes=[index("local", "a", "b")],
        GlobalSecondaryIndexes=[index("global", "b")],
    )
    table = table_of(tables)
    assert isinstance(tables.engine, MemoryEngine)
    stores = {table.store, table.collections_store, *(index.store for index in table.indexes)}
    assert stores <= set(tables.engine._stores)
    tables.call("DeleteTable", TableName="table")
    assert not stores & set(tables.engine._stores)


def test_tables_of_an_account_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "TABLES_PER_ACCOUNT_MAX", 2)
    tables = Tables(Delays(delete_seconds=5))
    tables.create("one")
    tables.create("two")
    with pytest.raises(LimitExceededException):
        tables.create("three")
    tables.call("DeleteTable", TableName="one")
    tables.create("three")
    tables.clock.advance(5)
    with pytest.raises(LimitExceededException):
        tables.create("one")
    tables.call("DeleteTable", TableName="two")
    tables.create("one")


def test_only_one_of_two_creations_succeeds_whoever_makes_them() -> None:
    engine = MemoryEngine(PlannedFaults(writes=[Fault.DELAY, Fault.REPEAT]))
    first, second = Tables(engine=engine), Tables(engine=engine)
    first.create()
    assert second.refusal(
        "CreateTable",
        TableName="table",
        AttributeDefinitions=definitions("a"),
        KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    ).startswith("ResourceInUseException")


def test_every_change_is_pure() -> None:
    engine = MemoryEngine(PlannedFaults(writes=[Fault.REPEAT] * 20))
    tables = Tables(engine=engine)
    arn = tables.create()["TableArn"]
    tables.call("TagResource", ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}])
    tables.call(
        "UpdateTable",
        TableName="table",
        AttributeDefinitions=definitions("c"),
        GlobalSecondaryIndexUpdates=[{"Create": index("new", "c")}],
    )
    asyncio.run(tables.backfill.run_to_end())
    tables.call(
        "UpdateTable",
        TableName="table",
        GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "new"}}],
    )
    tables.call("DeleteTable", TableName="table")


def test_a_record_survives_its_row() -> None:
    tables = Tables()
    tables.create(
        GlobalSecondaryIndexes=[index("global", "b")],
        Tags=[{"Key": "a", "Value": "b"}],
    )
    tables.call(
        "UpdateTimeToLive",
        TableName="table",
        TimeToLiveSpecification={"AttributeName": "x", "Enabled": True},
    )
    catalog: Catalog = tables.catalog
    record = asyncio.run(catalog.record(ACCOUNT, REGION, "table"))
    assert unpack_record(record.pack()) == record


@pytest.mark.parametrize("row", [b"", b"{}", b"[]", b'{"format":2,"table":{}}', b"\xff"])
def test_a_row_that_is_no_record_is_corruption(row: bytes) -> None:
    with pytest.raises(CorruptionError):
        unpack_record(row)
