"""Queue rows hold index operations, and each row that they keep once."""

from __future__ import annotations

import pytest

from hashrange.engine.base import Changes
from hashrange.errors import CorruptionError
from hashrange.model.schema import KeyPart, Table
from hashrange.storage.index_queue import (
    Operation,
    pack_operations,
    queue_changes,
    unpack_operations,
)


def make_table() -> Table:
    table = Table(
        "table",
        id="",
        account="",
        region="",
        store="t",
        partition=KeyPart("p", "S"),
        sort=None,
        indexes=(),
        key_types={},
        version=1,
    )
    table.queue_store = "t.q"
    return table


def test_operations_come_back_as_they_were() -> None:
    operations: list[Operation] = [
        ("i1", 3, b"key", b"row"),
        ("i2", 0, b"", None),
        ("i2", 7, b"k" * 3000, b"row"),
        ("i3", 1, b"x", b""),
    ]
    assert unpack_operations(pack_operations(operations)) == (operations, None)


def test_a_row_of_several_indexes_is_kept_once() -> None:
    row = b"r" * 10_000
    packed = pack_operations([(f"i{number}", 0, b"key", row) for number in range(20)])
    assert len(packed) < 11_000


def test_bytes_that_are_no_queue_row_are_corruption() -> None:
    packed = pack_operations([("i1", 3, b"key", b"row")])
    for broken in (b"", packed[:-4], b"\x05\x00" + packed[2:]):
        with pytest.raises(CorruptionError):
            unpack_operations(broken)


def test_a_put_stands_for_the_delete_of_its_key_too() -> None:
    indexed, changes = Changes(), Changes()
    indexed.deletes += [("i", 0, b"a"), ("i", 0, b"b")]
    indexed.puts.append(("i", 0, b"a", b"new"))
    queue_changes(make_table(), 2, indexed, changes)
    [(store, shard, prefix, value)] = changes.appends
    assert (store, shard, prefix) == ("t.q", 2, b"")
    operations, time = unpack_operations(value)
    assert operations == [("i", 0, b"b", None), ("i", 0, b"a", b"new")]
    assert time is None


def test_a_queue_row_tells_when_its_item_was_written() -> None:
    indexed, changes = Changes(), Changes()
    indexed.puts.append(("i", 0, b"a", b"new"))
    queue_changes(make_table(), 2, indexed, changes, 1_800_000_000.25)
    [(_, _, _, value)] = changes.appends
    assert unpack_operations(value) == ([("i", 0, b"a", b"new")], 1_800_000_000.25)


def test_nothing_is_queued_where_no_index_changes() -> None:
    changes = Changes()
    queue_changes(make_table(), 0, Changes(), changes)
    assert not changes.appends
