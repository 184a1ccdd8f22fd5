"""Queue rows: changes of global indexes that follow their item."""

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

OPERATIONS: list[Operation] = [
    ("i1", 0, b"old", None),
    ("i1", 0, b"new", b"row"),
    ("i2", 70_000, b"", b"row"),
    ("i3", 1, b"k" * 300, b"another"),
]


def table():
    made = Table(
        "t",
        id="",
        account="",
        region="",
        store="t1",
        partition=KeyPart("p", "S"),
        sort=None,
        indexes=(),
        key_types={},
        version=0,
    )
    made.queue_store = "t1.q"
    return made


def test_operations_come_back_from_their_row():
    assert unpack_operations(pack_operations(OPERATIONS)) == OPERATIONS
    assert unpack_operations(pack_operations([])) == []


def test_a_row_that_several_indexes_keep_stands_in_the_queue_once():
    row = b"x" * 1000
    packed = pack_operations([("i1", 0, b"a", row), ("i2", 0, b"b", row)])
    assert packed.count(row) == 1


def test_a_row_that_is_put_again_is_not_deleted_first():
    indexed, changes = Changes(), Changes()
    indexed.deletes.extend([("i1", 0, b"moved"), ("i1", 0, b"same")])
    indexed.puts.append(("i1", 0, b"same", b"row"))
    queue_changes(table(), 5, indexed, changes)
    [(store, shard, prefix, row)] = changes.appends
    assert (store, shard, prefix) == ("t1.q", 5, b"")
    assert unpack_operations(row) == [("i1", 0, b"moved", None), ("i1", 0, b"same", b"row")]


def test_nothing_is_queued_when_no_index_changes():
    changes = Changes()
    queue_changes(table(), 0, Changes(), changes)
    assert not changes.appends


@pytest.mark.parametrize("row", [b"", b"\x01\x00", b"\x00\x00\x05ab", b"\x00\x00\x02\xff\xfe"])
def test_a_row_that_is_not_from_the_queue_is_corruption(row):
    with pytest.raises(CorruptionError):
        unpack_operations(row)
