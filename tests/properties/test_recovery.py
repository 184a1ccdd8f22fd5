"""Restored tables equal a model kept beside: puts, updates, deletes, transactions, time to live."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from tests.harness.engines import faulty_engine
from tests.harness.protected import KEYS, TABLE, ProtectedTable, key_of

SEEDS = range(int(os.environ.get("HASHRANGE_RECOVERY_SEEDS", "1")))
SECONDS = 40
BY_V = {
    "IndexName": "by-v",
    "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
INDEXED: dict[str, Any] = {
    "AttributeDefinitions": [
        *KEYS["AttributeDefinitions"],
        {"AttributeName": "v", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [BY_V],
}

Model = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(params=["memory", "cluster", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "memory":
        yield MemoryEngine()
    elif request.param == "cluster":
        yield faulty_engine(seed=3)
    else:
        lock = acquire_directory(tmp_path / "data")
        yield SqliteEngine.open(tmp_path / "data")
        lock.release()


class Writer:
    """Changes a table and its model at random."""

    def __init__(self, table: ProtectedTable, seed: int) -> None:
        self.table = table
        self.dice = random.Random(seed)
        self.model: Model = {}

    def write(self) -> None:
        self.dice.choice((self.put, self.put, self.update, self.delete, self.transact))()

    def key(self) -> tuple[str, int]:
        return self.dice.choice("abcd"), self.dice.randrange(6)

    def value(self) -> dict[str, str]:
        return {"S": str(self.dice.randrange(5))}

    def item(self, key: tuple[str, int]) -> dict[str, Any]:
        item = key_of(*key) | {"v": self.value(), "n": {"N": "0"}}
        if self.dice.random() < 0.3:
            expiry = int(self.table.clock.now()) + self.dice.randrange(1, 9)
            item["ttl"] = {"N": str(expiry)}
        return item

    def put(self) -> None:
        key = self.key()
        self.model[key] = self.item(key)
        self.table.call("PutItem", TableName=TABLE, Item=self.model[key])

    def update(self) -> None:
        key = self.key()
        self.table.call(
            "UpdateItem",
            TableName=TABLE,
            Key=key_of(*key),
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        before = self.model.get(key, key_of(*key))
        number = int(before.get("n", {"N": "0"})["N"]) + 1
        self.model[key] = before | {"n": {"N": str(number)}}

    def delete(self) -> None:
        key = self.key()
        self.table.call("DeleteItem", TableName=TABLE, Key=key_of(*key))
        self.model.pop(key, None)

    def transact(self) -> None:
        keys = list({self.key() for _ in range(4)})
        actions: list[dict[str, Any]] = []
        for key in keys:
            if self.dice.random() < 0.3:
                actions.append({"Delete": {"TableName": TABLE, "Key": key_of(*key)}})
                self.model.pop(key, None)
            else:
                self.model[key] = self.item(key)
                actions.append({"Put": {"TableName": TABLE, "Item": self.model[key]}})
        self.table.call("TransactWriteItems", TransactItems=actions)

    def expire(self) -> None:
        """Take from the model what the table deletes at the next call."""
        now = self.table.clock.now()
        for key, item in list(self.model.items()):
            if "ttl" in item and int(item["ttl"]["N"]) < now:
                del self.model[key]


def in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (item["p"]["S"], int(item["s"]["N"])))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_restored_to_any_second_equals_the_model(engine: Engine, seed: int) -> None:
    table = ProtectedTable(engine=engine, **INDEXED)
    table.call(
        "UpdateTimeToLive",
        TableName=TABLE,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"},
    )
    writer = Writer(table, seed)
    states: list[tuple[float, list[Any]]] = []
    expired = 0
    for _ in range(SECONDS):
        before = len(writer.model)
        writer.expire()
        expired += before - len(writer.model)
        assert in_order(table.scan()) == in_order(list(writer.model.values()))
        for _ in range(writer.dice.randrange(4)):
            writer.write()
        states.append((table.clock.now(), in_order(list(writer.model.values()))))
        table.clock.advance(1)
    assert expired, "nothing expired, so nothing was shown about it"
    for number, (time, wanted) in enumerate(writer.dice.sample(states, 6)):
        assert in_order(table.scan(at=time)) == wanted
        target = f"restored{number}"
        table.call(
            "RestoreTableToPointInTime",
            SourceTableName=TABLE,
            TargetTableName=target,
            RestoreDateTime=time,
        )
        assert in_order(table.scan(table=target)) == wanted
        indexed = [item for item in wanted if "v" in item]
        assert in_order(table.scan(table=target, IndexName="by-v")) == indexed
    table.close()
