"""The engine that seals: requests see items, the engine below sees none, and a key closes both."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hashrange.engine.base import Changes
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.keyring.records import DAY_SECONDS, Key
from hashrange.keyring.store import key_row
from hashrange.storage.sealed_engine import SealedEngine
from hashrange.storage.sealed_rows import RowCipher, SpaceKeys
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

    def close_key(self, state: Any, **members: Any) -> None:
        """Have the table's KMS key used no longer."""
        now = self.clock.now()
        self.edit_key(lambda key: key.close(state, now), **members)

    def edit_key(self, change_key: Callable[[Key], None] | None = None, **members: Any) -> None:
        """Change the table's KMS key."""
        place = ("000000000000", "us-east-1")

        async def change() -> None:
            (key,) = await self.database.keyring.keys(place)
            row = key_row(place, key.id)

            def edit(records):
                if change_key is not None:
                    change_key(records[row])
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


def test_a_closed_table_says_since_when_it_is_closed(table):
    closed_at = table.clock.now()

    def said():
        described = table.described()
        encryption = described["SSEDescription"]
        assert (encryption["Status"], encryption["SSEType"]) == ("ENABLED", "KMS")
        return described["TableStatus"], encryption.get("InaccessibleEncryptionDateTime")

    assert said() == ("ACTIVE", None)
    table.close_key("Disabled")
    table.clock.advance(3600)
    assert said() == ("INACCESSIBLE_ENCRYPTION_CREDENTIALS", closed_at)
    table.close_key("PendingDeletion", deletion_at=table.clock.now() + DAY_SECONDS)
    assert said() == ("INACCESSIBLE_ENCRYPTION_CREDENTIALS", closed_at)
    table.clock.advance(2 * DAY_SECONDS)
    assert "does not exist" in table.refusal("Scan", TableName="sealed")
    assert table.keys() == []
    assert said() == ("INACCESSIBLE_ENCRYPTION_CREDENTIALS", closed_at)


def test_a_table_that_is_open_again_does_not_say_when_it_was_closed(table):
    table.close_key("Disabled")
    table.edit_key(lambda key: key.reopen())
    assert "InaccessibleEncryptionDateTime" not in table.described()["SSEDescription"]


def test_what_works_on_a_closed_table_and_what_does_not(table):
    table.add("1")
    table.close_key("Disabled")
    on = {"TableName": "sealed"}
    expiry = {"AttributeName": "text", "Enabled": True}
    calls: dict[str, dict[str, Any]] = {
        "CreateBackup": {**on, "BackupName": "later"},
        "UpdateTimeToLive": {**on, "TimeToLiveSpecification": expiry},
        "UpdateTable": {**on, "SSESpecification": {"Enabled": False}},
        "UpdateContributorInsights": {**on, "ContributorInsightsAction": "ENABLE"},
    }
    for operation, parameters in calls.items():
        refused = table.refusal(operation, **parameters)
        assert refused.startswith("AccessDeniedException: KMS key access denied"), operation
    recovery = {"PointInTimeRecoveryEnabled": True}
    table.call("UpdateContinuousBackups", **on, PointInTimeRecoverySpecification=recovery)
    table.call("UpdateTable", **on, DeletionProtectionEnabled=True)
    table.call("UpdateTable", **on, DeletionProtectionEnabled=False)
    table.call("DescribeTimeToLive", **on)
    table.call("DeleteTable", **on)


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


class PutAndAppend:
    """A decision that puts a row and appends another, made of the rows that it sees."""

    fences = ()
    keys = (("t1", 0, b"key"),)

    def decide(self, rows):
        changes = Changes()
        changes.puts.append(("t1", 0, b"key", b"put " + (rows[0] or b"")))
        changes.appends += [("t1", 0, b"log", b"first"), ("t1", 0, b"log", b"second")]
        return changes


class Capturing:
    """An engine that keeps the decision."""

    capabilities = MemoryEngine().capabilities
    decision: Any = None

    def counter(self):
        return 1

    async def write(self, decision):
        self.decision = decision


def test_a_sealed_decision_gives_the_same_bytes_for_the_same_rows_and_others_for_others():
    below = Capturing()
    engine = SealedEngine(cast(Any, below), cast(Any, None))
    cipher = RowCipher(b"8 bytes.", AESGCM(bytes(32)))
    engine._spaces = {"t1": SpaceKeys({b"8 bytes.": cipher}, cipher)}
    engine._counter = below.counter()
    asyncio.run(engine.write(PutAndAppend()))

    def decide(row):
        changes = below.decision.decide([row])
        return [*changes.puts, *changes.appends]

    first = decide(None)
    assert decide(None) == first
    other = decide(b"other")
    assert other[1:] == first[1:]
    nonces = {row[13:25] for *_, row in [*first, *other]}
    assert len(nonces) == 4, "another row is never sealed with the same nonce"
