"""The tables the lanes write to, and the check that tables, indexes and counts agree."""

from __future__ import annotations

import random
import threading
from typing import Any

from hashrange.model.values import item_size
from tests.faults.lanes import PAIRS, THINGS, Item
from tests.faults.served import Connection, NoAnswerError, eventually

LATE_INDEX = "late"
_LATE_ATTRIBUTES = [{"AttributeName": "stamp", "AttributeType": "S"}]


def create_tables(port: int) -> None:
    """Create both tables, with local and global indexes of all projections."""
    connection = Connection(port)
    definitions = {"pk": "S", "sk": "S", "day": "S", "group": "S", "rank": "N"}
    connection.result(
        "CreateTable",
        TableName=THINGS,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=_definitions(definitions),
        KeySchema=_keys("pk", "sk"),
        LocalSecondaryIndexes=[
            _index("by-day", "ALL", "pk", "day"),
            _index("by-rank", "KEYS_ONLY", "pk", "rank"),
        ],
        GlobalSecondaryIndexes=[
            _index("by-group", "ALL", "group", "rank"),
            _index("of-day", "KEYS_ONLY", "day"),
        ],
    )
    connection.result(
        "CreateTable",
        TableName=PAIRS,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=_definitions({"id": "S", "group": "S", "day": "S"}),
        KeySchema=_keys("id"),
        GlobalSecondaryIndexes=[_index("grouped", "INCLUDE", "group", "day")],
    )
    connection.close()


def _definitions(types: dict[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": type_} for name, type_ in types.items()]


def _keys(*names: str) -> list[dict[str, str]]:
    kinds = zip(names, ("HASH", "RANGE"), strict=False)
    return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds]


def _index(name: str, projection: str, *keys: str) -> dict[str, Any]:
    projected: dict[str, Any] = {"ProjectionType": projection}
    if projection == "INCLUDE":
        projected["NonKeyAttributes"] = ["n", "stamp"]
    return {"IndexName": name, "KeySchema": _keys(*keys), "Projection": projected}


class IndexMaker:
    """Creates and deletes an index over and over; one more client, with its own doubt."""

    def __init__(self, port: int, dice: random.Random) -> None:
        self.states = {False}  # whether the index is there, as far as is known
        self.made = 0
        self.failures: list[str] = []
        self._connection = Connection(port)
        self._dice = dice

    def run(self, stop: threading.Event) -> None:
        """Make and remove the index until told to stop."""
        try:
            while not stop.is_set():
                try:
                    self._step()
                except ConnectionError:
                    stop.wait(0.01)
        except Exception as error:  # noqa: BLE001 - the test reports it
            self.failures.append(f"index maker: {type(error).__name__}: {error}")
        finally:
            self._connection.close()

    def settle(self, is_there: bool) -> None:
        """Hold the table's description against what is known."""
        assert is_there in self.states, f"index is there: {is_there}, known: {self.states}"
        self.states = {is_there}

    def _step(self) -> None:
        try:
            index = describe(self._connection, THINGS).get(LATE_INDEX)
            if index is None:
                self._change(True, {"Create": _index(LATE_INDEX, "ALL", "stamp")})
            elif index["IndexStatus"] == "ACTIVE" and self._dice.random() < 0.3:
                self._change(False, {"Delete": {"IndexName": LATE_INDEX}})
        except NoAnswerError:
            self._connection.close()

    def _change(self, is_there: bool, update: dict[str, Any]) -> None:
        # Until it is answered, either may be the case.
        self.states = {*self.states, is_there}
        self._connection.result(
            "UpdateTable",
            TableName=THINGS,
            AttributeDefinitions=_LATE_ATTRIBUTES,
            GlobalSecondaryIndexUpdates=[update],
        )
        self.states = {is_there}
        self.made += is_there


def describe(connection: Connection, table: str) -> dict[str, Any]:
    """Return the descriptions of a table and of its indexes, by name; the table's is ""."""
    description = connection.result("DescribeTable", TableName=table)["Table"]
    found = {"": description}
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        found |= {index["IndexName"]: index for index in description.get(kind, [])}
    return found


def check_table(connection: Connection, table: str) -> list[Item]:
    """Check that indexes and counts are what follows from a table's items; return the items."""

    def is_settled() -> bool:
        described = describe(connection, table)
        described.pop("")
        return all(index.get("IndexStatus", "ACTIVE") == "ACTIVE" for index in described.values())

    eventually(is_settled, f"the indexes of {table} are active")
    descriptions = describe(connection, table)
    description = descriptions.pop("")
    items = connection.pages("Scan", TableName=table, ConsistentRead=True)
    assert description["ItemCount"] == len(items)
    assert description["TableSizeBytes"] == sum(map(item_size, items))
    table_keys = [part["AttributeName"] for part in description["KeySchema"]]
    for name, index in descriptions.items():
        expected = [_projected(index, table_keys, item) for item in items]
        entries = [entry for entry in expected if entry is not None]
        actual = connection.pages("Scan", TableName=table, IndexName=name)
        by_key = {_key_of(entry, table_keys): entry for entry in actual}
        assert len(by_key) == len(actual), f"{name} has an item twice"
        assert by_key == {_key_of(entry, table_keys): entry for entry in entries}, name
        assert index["ItemCount"] == len(entries), name
        assert index["IndexSizeBytes"] == sum(map(item_size, entries)), name
    return items


def _key_of(item: Item, names: list[str]) -> tuple[str, ...]:
    return tuple(item[name]["S"] for name in names)


def _projected(index: dict[str, Any], table_keys: list[str], item: Item) -> Item | None:
    """Return what an index keeps of an item, None if it is not in it."""
    index_keys = [part["AttributeName"] for part in index["KeySchema"]]
    if any(name not in item for name in index_keys):
        return None
    projection = index["Projection"]
    if projection["ProjectionType"] == "ALL":
        return item
    kept = {*table_keys, *index_keys, *projection.get("NonKeyAttributes", ())}
    return {name: value for name, value in item.items() if name in kept}
