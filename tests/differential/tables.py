"""Random table schemas, and what a generator has to know of a table to ask sensible questions."""

import dataclasses
from random import Random
from typing import Any

from tests.differential import values
from tests.differential.values import Item

KEY_POOLS: dict[str, tuple[str, ...]] = {
    "S": ("a", "ab", "abc", "b", "é", "日本", "k1", "k2"),
    "N": ("1", "2", "10", "-1", "1.5", "1e2", "0", "-100"),
    "B": tuple(values.text_of(raw) for raw in values.BYTES[:8]),
}
INDEX_ATTRIBUTES = ("s", "s2", "n", "n2", "b")


@dataclasses.dataclass(frozen=True)
class Key:
    """A key schema: partition attribute, sort attribute or None, with types."""

    partition: str
    partition_type: str
    sort: str | None
    sort_type: str | None

    def names(self) -> list[str]:
        return [self.partition] + ([self.sort] if self.sort else [])

    def schema(self) -> list[dict[str, str]]:
        kinds = ("HASH", "RANGE")
        return [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(self.names(), kinds, strict=False)
        ]

    def definitions(self) -> dict[str, str]:
        types = {self.partition: self.partition_type}
        if self.sort and self.sort_type:
            types[self.sort] = self.sort_type
        return types


@dataclasses.dataclass
class Index:
    name: str
    key: Key
    is_local: bool
    projection: dict[str, Any]

    def request(self) -> dict[str, Any]:
        return {
            "IndexName": self.name,
            "KeySchema": self.key.schema(),
            "Projection": self.projection,
        }


@dataclasses.dataclass
class Table:
    name: str
    key: Key
    indexes: list[Index]
    # LastEvaluatedKeys seen, per index name ("" for the table), to start pages from.
    start_keys: dict[str, list[Item]] = dataclasses.field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """Return the CreateTable request."""
        types = self.key.definitions()
        for index in self.indexes:
            types.update(index.key.definitions())
        request: dict[str, Any] = {
            "TableName": self.name,
            "KeySchema": self.key.schema(),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }
        for is_local, parameter in ((True, "LocalSecondaryIndexes"), (False, "GlobalSecondary")):
            found = [index.request() for index in self.indexes if index.is_local == is_local]
            if found:
                request[parameter if is_local else "GlobalSecondaryIndexes"] = found
        return request

    def key_of(self, item: Item) -> Item:
        return {name: item[name] for name in self.key.names() if name in item}


def draw_key_value(random: Random, kind: str) -> dict[str, str]:
    """Return a key value from a pool of eight, the first ones preferred."""
    pool = KEY_POOLS[kind]
    return {kind: pool[min(random.randrange(len(pool)), random.randrange(len(pool)))]}


def draw_table_key(random: Random, key: Key) -> Item:
    """Return a primary key which probably exists."""
    found = {key.partition: draw_key_value(random, key.partition_type)}
    if key.sort and key.sort_type:
        found[key.sort] = draw_key_value(random, key.sort_type)
    return found


def draw_item(random: Random, table: Table) -> Item:
    """Return a valid item."""
    item = draw_table_key(random, table.key)
    for name in random.sample(sorted(values.ATTRIBUTES), random.randint(1, 8)):
        item.setdefault(name, values.draw_attribute(random, name))
    for index in table.indexes:
        for name, kind in index.key.definitions().items():
            fits = kind in item.get(name, {}) and item[name] not in ({"S": ""}, {"B": ""})
            if not fits and random.random() < (0.9 if name in item else 0.6):
                item[name] = draw_key_value(random, kind)
    return item


def draw_projection(random: Random, keys: set[str]) -> dict[str, Any]:
    """Return a projection; included attributes may not be keys."""
    kind = random.choice(("ALL", "ALL", "KEYS_ONLY", "INCLUDE"))
    if kind == "INCLUDE":
        chosen = random.sample(sorted({"s", "n", "m", "x", "ss"} - keys), random.randint(1, 3))
        return {"ProjectionType": kind, "NonKeyAttributes": chosen}
    return {"ProjectionType": kind}


def draw_index(random: Random, name: str, key: Key, is_local: bool) -> Index:
    """Return an index over typed attributes, now and then over the table's own keys."""
    choices = [*INDEX_ATTRIBUTES]
    types = {attribute: values.ATTRIBUTES[attribute] for attribute in choices}
    types.update(key.definitions())
    if not is_local:
        choices += key.names()
    if is_local:
        sort = random.choice(choices)
        found = Key(key.partition, key.partition_type, sort, types[sort])
    else:
        partition = random.choice(choices)
        sort = random.choice([c for c in choices if c != partition])
        is_composite = random.random() < 0.7
        found = Key(
            partition,
            types[partition],
            sort if is_composite else None,
            types[sort] if is_composite else None,
        )
    return Index(name, found, is_local, draw_projection(random, {*found.names(), *key.names()}))


def draw_table(random: Random, name: str, is_composite: bool) -> Table:
    """Return a valid table of random shape."""
    kinds = random.choices(("S", "N", "B"), (5, 3, 2), k=2)
    key = Key("p", kinds[0], "r" if is_composite else None, kinds[1] if is_composite else None)
    indexes = []
    if is_composite:
        count = random.randint(0, 2)
        indexes += [draw_index(random, f"local{i}", key, is_local=True) for i in range(count)]
    count = random.randint(0, 2)
    indexes += [draw_index(random, f"global{i}", key, is_local=False) for i in range(count)]
    return Table(name, key, indexes)
