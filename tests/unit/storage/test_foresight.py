"""Writes to large items are resolved before their turn, and their outcome is that of small ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.errors import ConflictError
from hashrange.model.schema import KeyPart
from hashrange.storage.foresight import (
    COSTLY_BYTES,
    Costly,
    Foreseen,
    foresee,
    too_costly,
    write_decision,
)
from hashrange.storage.images import Image
from hashrange.storage.layout import pack_item
from hashrange.storage.writes import CheckWrite, ItemOutcome, SingleWrite
from hashrange.testing import local
from tests.harness.engines import memory_plays
from tests.harness.schemas import make_table

LARGE = "x" * (COSTLY_BYTES + 1000)


class StubWrite:
    """A write that remembers which rows it resolved."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.foreseen: Foreseen | None = None
        self.has_turn = self.is_bulky = False

    def reads_item(self) -> bool:
        return True

    def resolve(self, row: bytes | None) -> Image:
        self.rows.append(row or b"")
        return Image(None, None)

    def slim(self, image: Image) -> Image:
        return image


class ChangingEngine:
    """An engine whose one row is another one, for the first few decisions."""

    def __init__(self, changes: int) -> None:
        self.changes = changes

    async def write(self, decision: Any) -> object:
        row = b"%d" % max(self.changes, 0) + b"x" * COSTLY_BYTES
        self.changes -= 1
        return decision(row)


def costly_decision(write: StubWrite) -> Any:
    def decide(row: bytes) -> object:
        return too_costly([(write, row)]) or "written"

    return decide


def test_a_costly_decision_is_foreseen_on_the_rows_it_met_and_then_made() -> None:
    write, engine = StubWrite(), ChangingEngine(0)
    assert asyncio.run(write_decision(engine.write, costly_decision(write))) == "written"
    assert write.rows == [b"0" + b"x" * COSTLY_BYTES]


def test_rows_that_change_meanwhile_are_foreseen_again() -> None:
    write, engine = StubWrite(), ChangingEngine(2)
    assert asyncio.run(write_decision(engine.write, costly_decision(write))) == "written"
    assert len(write.rows) == 2  # the first submission told none


def test_rows_that_never_rest_are_a_conflict() -> None:
    write, engine = StubWrite(), ChangingEngine(1000)
    with pytest.raises(ConflictError):
        asyncio.run(write_decision(engine.write, costly_decision(write)))


def test_a_decision_is_costly_by_all_its_rows_together() -> None:
    half = b"x" * (COSTLY_BYTES // 2 + 1)
    assert too_costly([(StubWrite(), half)]) is None
    assert too_costly([(StubWrite(), half), (StubWrite(), half)]) is not None


@pytest.fixture
def table():
    with local() as database:
        yield database.resource().create_table(
            TableName="things",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )


def outcomes(table: Any, body: str) -> list[object]:
    """Return what writes to an item with this body answer and leave; each kind of write once."""
    key = {"id": "one"}
    table.put_item(Item={**key, "count": 1, "body": body, "tags": {"a", "b"}})
    found: list[object] = []

    def attempt(operation: str, **request: Any) -> None:
        try:
            answer = getattr(table, operation)(**request)
            found.append(answer.get("Attributes", {}).get("count"))
        except ClientError as error:
            found.append(str(error))
        item = table.get_item(Key=key).get("Item", {})
        found.append({name: value for name, value in item.items() if name != "body"})

    values = {":one": 1, ":nine": 9}
    update = {"Key": key, "UpdateExpression": "ADD #c :one", "ReturnValues": "ALL_NEW"}
    names = {"#c": "count"}
    one = {"ExpressionAttributeValues": {":one": 1}, "ExpressionAttributeNames": names}
    both = {"ExpressionAttributeValues": values, "ExpressionAttributeNames": names}
    attempt("update_item", **update, **one)
    attempt("update_item", **update, ConditionExpression="#c = :nine", **both)
    attempt("update_item", Key=key, UpdateExpression="SET a.b = :one", **one)
    attempt(
        "update_item", Key=key, UpdateExpression="REMOVE #c, tags", ExpressionAttributeNames=names
    )
    attempt("put_item", Item=key, ConditionExpression="attribute_not_exists(id)")
    attempt("delete_item", Key=key, ConditionExpression="attribute_not_exists(id)")
    attempt("delete_item", Key=key, ConditionExpression="attribute_exists(id)")
    return found


def test_writes_to_large_items_answer_as_writes_to_small_ones(table) -> None:
    small = outcomes(table, "x")
    assert outcomes(table, LARGE) == small
    assert small[0] == 2
    assert sum("ConditionalCheckFailed" in str(each) for each in small) == 3


def test_a_transaction_on_large_items_is_all_or_nothing(table) -> None:
    for name in ("one", "two"):
        table.put_item(Item={"id": name, "body": LARGE, "count": 1})
    client = table.meta.client

    def add(name: str, condition: str) -> dict[str, Any]:
        return {
            "Update": {
                "TableName": "things",
                "Key": {"id": name},
                "UpdateExpression": "ADD #c :one",
                "ConditionExpression": condition,
                "ExpressionAttributeNames": {"#c": "count"},
                "ExpressionAttributeValues": {":one": 1},
            }
        }

    client.transact_write_items(TransactItems=[add("one", "#c = :one"), add("two", "#c = :one")])
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        client.transact_write_items(
            TransactItems=[add("one", "#c > :one"), add("two", "#c = :one")]
        )
    counts = [table.get_item(Key={"id": name})["Item"]["count"] for name in ("one", "two")]
    assert counts == [2, 2]


def test_a_large_row_is_not_decoded_in_the_turn_to_write() -> None:
    table = make_table(KeyPart("id", "S"))
    key = {"id": {"S": "one"}}
    row = pack_item({**key, "body": {"S": LARGE}}, len(LARGE))
    check = CheckWrite(table, b"key", key, None)
    assert isinstance(SingleWrite(check, 0.0).decide([row]).outcome, Costly)
    check.foreseen = foresee(check, row)
    outcome = SingleWrite(check, 0.0).decide([row]).outcome
    assert isinstance(outcome, ItemOutcome)
    assert outcome.matched


def test_a_write_of_very_many_values_is_foreseen_whatever_it_meets() -> None:
    write = StubWrite()
    assert too_costly([(write, None)]) is None
    write.is_bulky = True
    assert too_costly([(write, None)]) is not None
    write.foreseen = foresee(write, None)
    assert too_costly([(write, None)]) is None


def test_only_writes_that_have_their_turn_are_given_their_rows() -> None:
    write, row = StubWrite(), b"x" * (COSTLY_BYTES + 1)
    first = too_costly([(write, row)])
    assert first is not None
    assert (first.writes, first.rows) == ([write], [])
    write.has_turn = True
    second = too_costly([(write, row)])
    assert second is not None
    assert second.rows == [row]


def test_what_is_foreseen_keeps_items_only_if_rows_are_derived_from_them() -> None:
    key = {"id": {"S": "one"}}
    row = pack_item({**key, "body": {"S": LARGE}}, len(LARGE))
    plain = CheckWrite(make_table(KeyPart("id", "S")), b"key", key, None)
    assert plain.slim(plain.resolve(row)).old is None
    plain.table.has_derived_rows = True
    assert plain.slim(plain.resolve(row)).old is not None


@pytest.mark.parametrize("engine", ["memory", "cluster"])
def test_a_transaction_changes_large_items_on_every_engine(engine: str) -> None:
    with memory_plays(engine), local() as database:
        client = database.client()
        client.create_table(
            TableName="things",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        keys = [{"id": {"S": f"item{number}"}} for number in range(6)]
        for key in keys:
            client.put_item(TableName="things", Item={**key, "body": {"S": LARGE}})
        update = {
            "TableName": "things",
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        client.transact_write_items(
            TransactItems=[{"Update": {**update, "Key": key}} for key in keys]
        )
        items = [client.get_item(TableName="things", Key=key)["Item"] for key in keys]
        assert [(item["n"], len(item["body"]["S"])) for item in items] == [
            ({"N": "1"}, len(LARGE))
        ] * len(keys)
