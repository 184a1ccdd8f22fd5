"""The rows of all stores are as docs/internals/records.md describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from hashrange.errors import CorruptionError
from hashrange.limits import ITEM_COLLECTION_BYTES_MAX
from hashrange.model.records import unpack_record
from hashrange.model.values import item_size
from hashrange.storage.catalog import fill_key, record_key, stream_key
from hashrange.storage.layout import (
    pack_item,
    pack_tally,
    row_size,
    segment_bounds,
    splice,
    unpack_item,
    unpack_items,
    unpack_tally,
)
from hashrange.storage.tokens import TokenCheck

DOCUMENT = (Path(__file__).parents[3] / "docs" / "internals" / "records.md").read_text("utf-8")
CATALOG_KEYS: dict[str, Callable[..., bytes]] = {
    "table": record_key,
    "fill": fill_key,
    "stream": stream_key,
}


def vectors(heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading of the document, without their quotes."""
    section = DOCUMENT.split(f"## Vectors: {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+) \|$", section, re.MULTILINE)[1:]
    assert rows
    return [[cell.strip("`") for cell in row.split(" | ")] for row in rows]


@pytest.mark.parametrize(("text", "size", "row"), vectors("item rows"))
def test_item_rows(text: str, size: str, row: str) -> None:
    item = json.loads(text)
    packed = pack_item(item, item_size(item))
    assert packed == bytes.fromhex(row)
    assert row_size(packed) == int(size)
    assert unpack_item(packed) == item
    assert orjson.dumps(splice(packed)).decode() == text


@pytest.mark.parametrize(("size", "row"), vectors("size rows"))
def test_size_rows(size: str, row: str) -> None:
    assert pack_tally(int(size)) == bytes.fromhex(row)
    assert unpack_tally(bytes.fromhex(row)) == int(size) <= ITEM_COLLECTION_BYTES_MAX


@pytest.mark.parametrize(("name", "time", "request_", "key", "row"), vectors("token rows"))
def test_token_rows(name: str, time: str, request_: str, key: str, row: str) -> None:
    check = TokenCheck(name, json.loads(request_), float(time))
    assert check.keys[0][2] == bytes.fromhex(key)
    assert check.admit(None, None) == bytes.fromhex(row)
    assert check.admit(bytes.fromhex(row), None) is None


@pytest.mark.parametrize(("kind", "names", "key"), vectors("catalog keys"))
def test_catalog_keys(kind: str, names: str, key: str) -> None:
    assert CATALOG_KEYS[kind](*json.loads(names)) == bytes.fromhex(key)


def test_table_records() -> None:
    section = DOCUMENT.split("## Vectors: table records\n")[1]
    found = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert found is not None
    row = json.dumps(json.loads(found.group(1)), separators=(",", ":")).encode()
    record = unpack_record(row)
    assert record.name == "Music"
    assert record.pack() == row


def test_a_record_without_newer_members_has_their_defaults() -> None:
    section = DOCUMENT.split("## Vectors: table records\n")[1]
    document = json.loads(section.split("```")[1].removeprefix("json"))
    for name in ("tags", "time_to_live", "stream", "warm"):
        del document["table"][name]
    record = unpack_record(json.dumps(document).encode())
    assert (record.tags, record.time_to_live, record.stream) == ({}, None, None)


@pytest.mark.parametrize("row", [b"", b"\x03\x00\x00\x00", b"\x03\x00\x00\x00{", b"\x01"])
def test_what_is_no_item_row_is_corruption(row: bytes) -> None:
    with pytest.raises(CorruptionError):
        unpack_item(row)
    with pytest.raises(CorruptionError):
        unpack_items([pack_item({}, 0), row])


@pytest.mark.parametrize("total", [1, 2, 3, 7, 1_000_000])
def test_segments_cover_all_keys_without_overlap(total: int) -> None:
    ends = [segment_bounds(segment, total) for segment in range(min(total, 100))]
    assert ends[0][0] == bytes(4)
    assert all(low < high for low, high in ends)
    assert all(first[1] == second[0] for first, second in pairwise(ends))
    assert segment_bounds(total - 1, total)[1] > b"\xff" * 2000
