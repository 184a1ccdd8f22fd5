"""The benchmark's tables, items and requests, and what a right answer to each looks like.

Everything comes from fixed seeds, so every server receives the same items and the same requests.

Each item carries a *mark*, the text `chk.<name>.<stamp>`. The name tells which item it is (or which
partition, for the items that are queried), the stamp who wrote it. The load generator knows for
every request the name, the number of marks and the least number of bytes its answer must have, so
it can check each answer without parsing JSON.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

Json = dict[str, Any]

TABLE = "bench"
INDEXED_TABLE = "bench_indexed"
INDEX = "by_group"

ITEMS = 10_000  # of about 1 KB
PARTITION_ITEMS = 20
FEEDS = 100  # partitions of PARTITION_ITEMS small items, for queries
INDEXED_ITEMS = 2_000
SIZED_ITEMS = {300: 2_000, 10_000: 500, 100_000: 100}  # items of other sizes: bytes to how many

_LETTERS = string.ascii_letters + string.digits
_TEXT = "".join(random.Random(0).choices(_LETTERS + " ", k=400_000))


class Call(NamedTuple):
    """One request, and what the load generator expects in the answer."""

    operation: str
    body: Json
    name: str = ""  # of the marks in the answer; "" if it has none, "*" if they differ
    marks: int = 0
    bytes_min: int = 0


def _text(rng: random.Random, length: int) -> str:
    start = rng.randrange(len(_TEXT) - length)
    return _TEXT[start : start + length]


def _string(value: str) -> Json:
    return {"S": value}


def _number(value: object) -> Json:
    return {"N": str(value)}


def mark(name: str, stamp: str) -> Json:
    return _string(f"chk.{name}.{stamp}")


def item_key(index: int) -> Json:
    """Return the key of the index-th 1 KB item."""
    return {
        "pk": _string(f"user#{index // PARTITION_ITEMS:05d}"),
        "sk": _string(f"order#{index % PARTITION_ITEMS:05d}"),
    }


def order_item(rng: random.Random, index: int, stamp: str) -> Json:
    """Return an item of about 1 KB with attributes of many types."""
    return {
        **item_key(index),
        "mark": mark(f"u{index}", stamp),
        "name": _string(_text(rng, 40)),
        "email": _string(_text(rng, 24) + "@example.com"),
        "status": _string(rng.choice(["new", "paid", "sent", "done"])),
        "amount": _number(f"{rng.randrange(1, 10**6)}.{rng.randrange(11, 99)}"),
        "created": _number(rng.randrange(1_600_000_000, 1_700_000_000)),
        "active": {"BOOL": rng.random() < 0.5},
        "note": {"NULL": True},
        "tags": {"SS": sorted({_text(rng, 8) for _ in range(4)})},
        "lines": {
            "L": [
                {"M": {"sku": _string(_text(rng, 12)), "qty": _number(rng.randrange(1, 100))}}
                for _ in range(6)
            ]
        },
        "address": {
            "M": {
                "street": _string(_text(rng, 30)),
                "city": _string(_text(rng, 16)),
                "geo": {"L": [_number(rng.randrange(90)), _number(rng.randrange(90))]},
            }
        },
        "body": _string(_text(rng, 500)),
    }


def indexed_item(rng: random.Random, index: int, stamp: str) -> Json:
    """Return an item whose index entry lies at a random place of the index."""
    item = order_item(rng, index, stamp)
    item["gpk"] = _string(f"group#{rng.randrange(200):04d}")
    item["gsk"] = _number(rng.randrange(10**9))
    return item


def feed_item(rng: random.Random, feed: int, number: int) -> Json:
    """Return the number-th item, of about 300 bytes, of a partition to query."""
    return {
        "pk": _string(f"feed#{feed:05d}"),
        "sk": _string(f"post#{number:05d}"),
        "mark": mark(f"f{feed}", "0"),
        "number": _number(number),
        "title": _string(_text(rng, 40)),
        "score": _number(rng.randrange(10**6)),
        "read": {"BOOL": rng.random() < 0.5},
        "body": _string(_text(rng, 160)),
    }


def sized_item(rng: random.Random, size: int, index: int, stamp: str) -> Json:
    """Return an item of about `size` bytes: some small attributes and one long text."""
    name = f"z{size}x{index}"
    return {
        "pk": _string(f"sized#{size}#{index:05d}"),
        "sk": _string("0"),
        "mark": mark(name, stamp),
        "status": _string(_text(rng, 8)),
        "count": _number(rng.randrange(10**6)),
        "seen": {"BOOL": rng.random() < 0.5},
        "body": _string(_text(rng, size - 90)),
    }


def table_definitions() -> list[Json]:
    """Return the CreateTable requests: one plain table and one with an index."""
    attributes = {"pk": "S", "sk": "S"}
    plain = {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema("pk", "sk"),
        "AttributeDefinitions": _attribute_definitions(attributes),
    }
    index = {
        "IndexName": INDEX,
        "KeySchema": _key_schema("gpk", "gsk"),
        "Projection": {"ProjectionType": "ALL"},
    }
    indexed = {
        **plain,
        "TableName": INDEXED_TABLE,
        "AttributeDefinitions": _attribute_definitions({**attributes, "gpk": "S", "gsk": "N"}),
        "GlobalSecondaryIndexes": [index],
    }
    return [plain, indexed]


def _key_schema(partition_key: str, sort_key: str) -> list[Json]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]


def _attribute_definitions(types: dict[str, str]) -> list[Json]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def initial_items() -> Iterator[tuple[str, Json]]:
    """Yield (table, item) for everything to load before measuring."""
    rng = random.Random(1)
    for index in range(ITEMS):
        yield TABLE, order_item(rng, index, "0")
    for feed in range(FEEDS):
        for number in range(PARTITION_ITEMS):
            yield TABLE, feed_item(rng, feed, number)
    for size, count in SIZED_ITEMS.items():
        for index in range(count):
            yield TABLE, sized_item(rng, size, index, "0")
    for index in range(INDEXED_ITEMS):
        yield INDEXED_TABLE, indexed_item(rng, index, "0")


class Requests:
    """One method per workload; each returns the next random call."""

    def __init__(self, seed: str, items: int = ITEMS, feeds: int = FEEDS) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        self._chosen = random.Random(seed)
        self._items = items
        self._feeds = feeds
        self._unused: list[int] = []
        self._stamp = 0

    def choose_again(self) -> None:
        """Choose the same items from now on as from the beginning, for other contents."""
        self._chosen = random.Random(self._seed)

    def _next_stamp(self) -> str:
        self._stamp += 1
        return f"w{self._stamp}"

    def get(self) -> Call:
        index = self._chosen.randrange(self._items)
        body = {"TableName": TABLE, "Key": item_key(index)}
        return Call("GetItem", body, f"u{index}", 1, 1_000)

    def fixed(self) -> Call:
        """The one request the do-nothing responder can answer."""
        return Call("GetItem", {"TableName": TABLE, "Key": item_key(0)}, "u0", 1, 1_000)

    def put(self) -> Call:
        index = self._chosen.randrange(self._items)
        item = order_item(self._rng, index, self._next_stamp())
        return Call("PutItem", {"TableName": TABLE, "Item": item})

    def update(self) -> Call:
        """A counter, a text and a condition; the whole new item comes back."""
        index = self._chosen.randrange(self._items)
        name = f"u{index}"
        body = {
            "TableName": TABLE,
            "Key": item_key(index),
            "UpdateExpression": "SET #c = if_not_exists(#c, :z) + :one, #m = :m",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeNames": {"#c": "counter", "#m": "mark"},
            "ExpressionAttributeValues": {
                ":z": _number(0),
                ":one": _number(1),
                ":m": mark(name, self._next_stamp()),
            },
            "ReturnValues": "ALL_NEW",
        }
        return Call("UpdateItem", body, name, 1, 1_000)

    def query(self) -> Call:
        """Reads the 20 items of a partition; the filter keeps 10."""
        feed = self._chosen.randrange(self._feeds)
        body = {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :p AND begins_with(sk, :b)",
            "FilterExpression": "#n < :half",
            "ExpressionAttributeNames": {"#n": "number"},
            "ExpressionAttributeValues": {
                ":p": _string(f"feed#{feed:05d}"),
                ":b": _string("post#"),
                ":half": _number(PARTITION_ITEMS // 2),
            },
        }
        return Call("Query", body, f"f{feed}", PARTITION_ITEMS // 2, 2_500)

    def batch_get(self) -> Call:
        indexes = self._rng.sample(range(self._items), 25)
        keys = [item_key(index) for index in indexes]
        body = {"RequestItems": {TABLE: {"Keys": keys}}}
        return Call("BatchGetItem", body, "*", 25, 25_000)

    def transact(self) -> Call:
        """A put, an update and a condition check, on items no transaction near by touches.

        There is no client token: a token sent again would make the replayed request do nothing.
        """
        if len(self._unused) < 3:
            self._unused = list(range(self._items))
            self._rng.shuffle(self._unused)
        put, update, check = (self._unused.pop() for _ in range(3))
        actions = [
            {
                "Put": {
                    "TableName": TABLE,
                    "Item": order_item(self._rng, put, self._next_stamp()),
                }
            },
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": item_key(update),
                    "UpdateExpression": "SET #c = if_not_exists(#c, :z) + :one",
                    "ExpressionAttributeNames": {"#c": "counter"},
                    "ExpressionAttributeValues": {":z": _number(0), ":one": _number(1)},
                }
            },
            {
                "ConditionCheck": {
                    "TableName": TABLE,
                    "Key": item_key(check),
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ]
        return Call("TransactWriteItems", {"TransactItems": actions})

    def put_indexed(self) -> Call:
        """Overwrites an item so that its index entry moves."""
        index = self._chosen.randrange(INDEXED_ITEMS)
        item = indexed_item(self._rng, index, self._next_stamp())
        return Call("PutItem", {"TableName": INDEXED_TABLE, "Item": item})

    def mixed(self) -> Call:
        kinds = [self.get, self.query, self.update]
        return self._rng.choices(kinds, [50, 30, 20])[0]()

    def soak(self) -> Call:
        """Reads and writes as a busy application sends them."""
        kinds = [self.get, self.query, self.update, self.put]
        return self._rng.choices(kinds, [40, 20, 20, 20])[0]()

    def get_sized(self, size: int) -> Call:
        index = self._chosen.randrange(SIZED_ITEMS[size])
        key = {"pk": _string(f"sized#{size}#{index:05d}"), "sk": _string("0")}
        return Call("GetItem", {"TableName": TABLE, "Key": key}, f"z{size}x{index}", 1, size)

    def put_sized(self, size: int) -> Call:
        index = self._chosen.randrange(SIZED_ITEMS[size])
        item = sized_item(self._rng, size, index, self._next_stamp())
        return Call("PutItem", {"TableName": TABLE, "Item": item})


WORKLOADS = {
    "get": "GetItem, 1 KB",
    "put": "PutItem, 1 KB",
    "update": "UpdateItem with a condition, all new",
    "query": "Query of 20 items with a filter",
    "batch_get": "BatchGetItem of 25",
    "transact": "TransactWriteItems of 3",
    "put_indexed": "PutItem that moves an index entry",
    "mixed": "50 % get, 30 % query, 20 % update",
    "get_300": "GetItem, 0.3 KB",
    "get_10000": "GetItem, 10 KB",
    "get_100000": "GetItem, 100 KB",
    "put_300": "PutItem, 0.3 KB",
    "put_10000": "PutItem, 10 KB",
    "put_100000": "PutItem, 100 KB",
}
SIZED = [name for name in WORKLOADS if name.rpartition("_")[2].isdigit()]


# How many different requests are replayed, when 5,000 would be gigabytes.
_COUNTS = {"put_10000": 1_000, "put_100000": 200, "batch_get": 2_000}


def calls(workload: str, seed: str, count: int | None = None, items: int = ITEMS) -> list[Call]:
    """Return calls of a workload, enough to replay or as many as asked for.

    The second half writes other contents to the items of the first, so that a replayed put always
    changes its item: storage may find that it has nothing to write otherwise, as SQLite does.
    """
    count = count or _COUNTS.get(workload, 5_000)
    requests = Requests(f"{workload}/{seed}", items)
    make: Callable[[], Call]
    base, _, size = workload.rpartition("_")
    if size.isdigit():
        make = partial(getattr(requests, base + "_sized"), int(size))
    else:
        make = getattr(requests, workload)
    first = [make() for _ in range(count // 2)]
    requests.choose_again()
    return first + [make() for _ in range(count - len(first))]


def wrong_answer(call: Call, answer: Json) -> str | None:
    """Say what is wrong with a successful answer, by looking at all of it."""
    body = call.body
    if call.operation == "GetItem":
        item = answer.get("Item", {})
        if any(item.get(name) != value for name, value in body["Key"].items()):
            return "not the item asked for"
        if not item.get("mark", {}).get("S", "").startswith(f"chk.{call.name}."):
            return "wrong mark"
    elif call.operation == "UpdateItem":
        new = answer.get("Attributes", {})
        if new.get("mark") != body["ExpressionAttributeValues"][":m"] or "counter" not in new:
            return "not the new item"
    elif call.operation == "Query":
        numbers = [int(item["number"]["N"]) for item in answer.get("Items", [])]
        if numbers != list(range(call.marks)) or answer.get("ScannedCount") != PARTITION_ITEMS:
            return "not the items asked for"
    elif call.operation == "BatchGetItem":
        found = {(item["pk"]["S"], item["sk"]["S"]) for item in answer["Responses"][TABLE]}
        asked = {(key["pk"]["S"], key["sk"]["S"]) for key in body["RequestItems"][TABLE]["Keys"]}
        if found != asked:
            return "not the items asked for"
    return None
