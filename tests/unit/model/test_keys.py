"""Key encodings: the documented vectors, ranges, and index keys."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hashrange.model import keys
from hashrange.model.schema import Index, KeyPart, Table
from hashrange.model.values import Value

DOCUMENT = Path(__file__).parents[3] / "docs" / "internals" / "keys.md"


def vectors(heading: str) -> list[tuple[str, object, bytes]]:
    section = DOCUMENT.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([SNB ]+) \| `(.+)` \| `([0-9a-f ]+)` \|$", section, re.MULTILINE)
    return [(types, json.loads(value), bytes.fromhex(key)) for types, value, key in rows]


def string(text: str) -> Value:
    return {"S": text}


def number(text: str) -> Value:
    return {"N": text}


PK = KeyPart("pk", "S")
SK = KeyPart("sk", "N")
TABLE = Table(
    "t",
    id="i",
    account="0",
    region="r",
    store="s",
    partition=PK,
    sort=SK,
    indexes=(),
    key_types={},
    version=0,
)


def index(partition: tuple[KeyPart, ...], sort: tuple[KeyPart, ...] = ()) -> Index:
    return Index(
        "x",
        "s",
        is_global=True,
        partition=partition,
        sort=sort,
        projection_type="ALL",
        projected=None,
    )


def test_documented_parts_are_what_the_code_writes() -> None:
    rows = vectors("Vectors: parts")
    assert len(rows) == 29
    for type, value, key in rows:
        assert keys.encode_part(type, {type: value}) == key
        assert keys.decode_key([type], b"hash" + key) == [{type: value}]


def test_documented_parts_are_in_order() -> None:
    rows = vectors("Vectors: parts")
    for wanted in "SNB":
        encodings = [key for type, _, key in rows if type == wanted]
        assert encodings == sorted(encodings)


def test_documented_item_keys_are_what_the_code_writes() -> None:
    rows = vectors("Vectors: item keys")
    assert len(rows) == 4
    for joined, contents, key in rows:
        types = joined.split()
        assert isinstance(contents, list)
        parts = tuple(KeyPart(f"k{i}", type) for i, type in enumerate(types))
        item = {
            part.name: {part.type: content} for part, content in zip(parts, contents, strict=True)
        }
        assert keys.item_key(parts, item) == key
        assert keys.decode_key(types, key) == list(item.values())


@pytest.mark.parametrize("text", ["", "a", "a\0", "ÿ"])
def test_prefix_range_holds_what_begins_with_the_text(text: str) -> None:
    prefix = keys.prefix_part("S", string(text))
    end = keys.successor(prefix)
    for suffix in ("", "\0", "z", "\U0010ffff"):
        assert prefix <= keys.encode_part("S", string(text + suffix)) < end
    if text:
        assert not prefix <= keys.encode_part("S", string(text[:-1])) < end
        assert not prefix <= keys.encode_part("S", string(text[:-1] + "\U0010ffff")) < end


def test_successor_carries_over_ff_bytes() -> None:
    assert keys.successor(b"a") == b"b"
    assert keys.successor(b"a\xff\xff") == b"b"


def test_successor_of_nothing_is_above_every_key() -> None:
    binary = {"B": "/" * 2728 + "//8="}
    for prefix in (b"", b"\xff\xff\xff\xff"):
        assert keys.successor(prefix) > b"\xff\xff\xff\xff" + keys.encode_part("B", binary)


# The order in which AWS was seen to scan tables that have these partition keys.
SCANNED_STRINGS = ["2", "8", "9", "1", "6", "0", "5", "4", "7", "3"]
SCANNED_NUMBERS = ["7", "999.9", "8", "3", "2", "9", "4", "6", "1", "0", "0.012345", "5"]


def test_placements_have_the_order_of_a_scan_on_aws() -> None:
    for type, scanned in (("S", SCANNED_STRINGS), ("N", SCANNED_NUMBERS)):
        part = (KeyPart("k", type),)
        placed = sorted(scanned, key=lambda text: keys.item_key(part, {"k": {type: text}}))
        assert placed == scanned


def test_segments_are_those_of_aws() -> None:
    for type, text, segment in (("S", "1668", 1), ("S", "3435", 4), ("N", "251", 1)):
        key = keys.item_key((KeyPart("k", type),), {"k": {type: text}})
        assert int.from_bytes(key[:4], "big") * 4096 >> 32 == segment


def test_documented_contents_are_what_is_hashed() -> None:
    rows = vectors("Vectors: placements")
    assert len(rows) == 13
    for type, value, both in rows:
        content = keys.hashed_content(type, {type: value})
        assert keys.placement(content) + content == both


def test_plain_keys_are_item_keys() -> None:
    table = Table(
        "t",
        id="i",
        account="0",
        region="r",
        store="s",
        partition=PK,
        sort=KeyPart("sk", "S"),
        indexes=(),
        key_types={},
        version=0,
    )
    for item in ({"pk": string("p"), "sk": string("s")}, {"pk": string("é"), "sk": string("日")}):
        assert keys.plain_key(table, item) == keys.item_key(table.parts, item)


def test_index_key_ends_in_the_table_key() -> None:
    item = {"pk": string("p"), "sk": number("1"), "a": string("x"), "b": number("-2")}
    key = keys.index_key(index((KeyPart("a", "S"),), (KeyPart("b", "N"),)), TABLE, item)
    assert key is not None
    assert key[:4] == keys.placement(b"x")
    assert keys.decode_key("SNSN", key) == [item["a"], item["b"], item["pk"], item["sk"]]


def test_index_key_places_by_all_partition_attributes() -> None:
    item = {"pk": string("p"), "sk": number("1"), "a": string("x"), "b": number("2")}
    a, b = KeyPart("a", "S"), KeyPart("b", "N")
    key = keys.index_key(index((a, b)), TABLE, item)
    joined = keys.encode_part("S", item["a"]) + keys.encode_part("N", item["b"])
    assert key is not None
    assert key.startswith(keys.placement(b"x" + b"\xc1\x03") + joined)
    assert key.startswith(keys.partition_start((a, b), (item["a"], item["b"])))


@pytest.mark.parametrize(
    "extra", [{}, {"a": string("x")}, {"b": number("1")}, {"a": number("1"), "b": number("1")}]
)
def test_item_without_index_attributes_has_no_index_key(extra: dict[str, Value]) -> None:
    item = {"pk": string("p"), "sk": number("1"), **extra}
    assert keys.index_key(index((KeyPart("a", "S"),), (KeyPart("b", "N"),)), TABLE, item) is None
