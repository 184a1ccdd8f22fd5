"""The engine that seals: requests see items, the engine below sees none, and a key closes both."""

from typing import Any

import pytest

from hashrange.engine.memory.engine import MemoryEngine
from hashrange.keyring.records import DAY_SECONDS, Key
from hashrange.keyring.store import key_row
from tests.harness.engines import faulty_engine
from tests.harness.streams import StreamedTable

WORD = "planted-word"
INDEX: Any = {
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "kind", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-kind",
            "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


class Sealed(StreamedTable):
    """A sealed table, and what the engine below has."""

    def __init__(self, engine, sse: dict[str, Any] | None = None) -> None:
        super().__init__(engine=engine)
        sse = {"Enabled": True} if sse is None else sse
        self.call("CreateTable", TableName="sealed", SSESpecification=sse, **INDEX)

    def add(self, id: str) -> None:
        item = {"id": {"S": id}, "kind": {"S": "k"}, "text": {"S": WORD}}
        self.call("PutItem", TableName="sealed", Item=item)

    def get(self, id: str) -> Any:
        read = {"Key": {"id": {"S": id}}, "ConsistentRead": True}
        return self.call("GetItem", TableName="sealed", **read).get("Item")

    def count(self, **parameters: Any) -> int:
        return int(self.call("Scan", TableName="sealed", **parameters)["Count"])

    def described(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("DescribeTable", TableName="sealed")["Table"]
        return found

    def edit_key(self, **members: Any) -> None:
        """Change members of the table's KMS key."""
        place = ("000000000000", "us-east-1")

        async def change() -> None:
            (key,) = await self.database.keyring.keys(place)
            row = key_row(place, key.id)

            def edit(records):
                for name, value in members.items():
                    setattr(records[row], name, value)
                return records

            await self.database.keyring.change([row], edit)

        self.runner.run(change())

    def keys(self) -> list[Key]:
        return self.runner.run(self.database.keyring.keys())

    def below(self) -> str:
        """Return everything that the engine below has."""
        return repr(_rows(self.database.engine.inner))


def _rows(engine: Any) -> list[Any]:
    return [list(store.rows.values()) for store in engine._stores.values()]


@pytest.fixture(params=["memory", "cluster"])
def table(request):
    made = Sealed(MemoryEngine() if request.param == "memory" else faulty_engine())
    yield made
    made.close()


@pytest.fixture
def plain_memory():
    made = Sealed(MemoryEngine(), {"Enabled": False})
    yield made
    made.close()


def test_items_indexes_and_streams_of_a_sealed_table_work(table):
    for number in range(10):
        table.add(str(number))
    table.call("DeleteItem", TableName="sealed", Key={"id": {"S": "3"}})
    assert table.get("1")["text"] == {"S": WORD}
    assert table.count() == 9
    assert table.count(IndexName="by-kind") == 9
    table.call(
        "TransactWriteItems",
        TransactItems=[
            {"Delete": {"TableName": "sealed", "Key": {"id": {"S": "1"}}}},
            {"Delete": {"TableName": "sealed", "Key": {"id": {"S": "2"}}}},
        ],
    )
    assert table.count() == 7
    assert table.get("1") is None


def test_the_engine_below_sees_nothing_of_the_items():
    table = Sealed(MemoryEngine())
    try:
        table.add("1")
        assert WORD not in table.below()
        assert table.get("1")["text"] == {"S": WORD}
    finally:
        table.close()


def test_a_key_that_is_disabled_closes_the_table_until_it_is_enabled(table):
    table.add("1")
    table.edit_key(state="Disabled")
    denied = "AccessDeniedException: KMS key access denied error: arn:aws:kms:"
    assert table.refusal("GetItem", TableName="sealed", Key={"id": {"S": "1"}}).startswith(denied)
    assert table.refusal("Scan", TableName="sealed").endswith("is disabled.")
    assert table.described()["TableStatus"] == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    table.edit_key(state="Enabled")
    assert table.get("1")["text"] == {"S": WORD}
    assert table.described()["TableStatus"] == "ACTIVE"


def test_a_key_whose_time_has_come_is_destroyed_with_everything_it_sealed(table):
    table.add("1")
    deletion_at = table.clock.now() + 7 * DAY_SECONDS
    table.edit_key(state="PendingDeletion", deletion_at=deletion_at)
    assert "is pending deletion" in table.refusal("Scan", TableName="sealed")
    assert len(table.keys()) == 1
    table.clock.advance(7 * DAY_SECONDS + 1)
    assert "does not exist" in table.refusal("Scan", TableName="sealed")
    assert table.keys() == []
    table.call("DeleteTable", TableName="sealed")


def test_a_key_is_rotated_when_it_is_due(table):
    table.add("1")
    table.edit_key(rotation_days=90, rotation_from=table.clock.now())
    table.clock.advance(90 * DAY_SECONDS + 1)
    table.add("2")
    (key,) = table.keys()
    assert len(key.materials) == 2
    assert table.count() == 2


def test_rows_are_sealed_anew_when_the_setting_changes(plain_memory):
    table = plain_memory
    for number in range(250):
        table.add(str(number))
    assert WORD in table.below()
    for _ in range(2):
        table.call("UpdateTable", TableName="sealed", SSESpecification={"Enabled": True})
        assert table.count() == 250
        assert table.described()["SSEDescription"]["Status"] == "ENABLED"
        assert WORD not in table.below()
    table.call("UpdateTable", TableName="sealed", SSESpecification={"Enabled": False})
    assert table.count() == 250
    assert "SSEDescription" not in table.described()
    assert WORD in table.below()
    # No data key is left, so the KMS key is not needed any more.
    table.edit_key(state="Disabled")
    assert table.count() == 250


def test_writes_of_a_table_being_sealed_are_right_whatever_the_engine_does():
    table = Sealed(faulty_engine(), {"Enabled": False})
    try:
        for number in range(30):
            table.add(str(number))
        table.call("UpdateTable", TableName="sealed", SSESpecification={"Enabled": True})
        for number in range(30, 60):
            table.add(str(number))
        assert table.count() == 60
        assert table.count(IndexName="by-kind") == 60
    finally:
        table.close()
