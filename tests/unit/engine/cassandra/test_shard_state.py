"""Head and books of a shard: what is written reads back, and nothing else is taken for it."""

import pytest

from hashrange.engine.cassandra.shard_state import (
    WRITE_IDS_KEPT,
    Books,
    unpack_books,
    unpack_head,
)
from hashrange.errors import CorruptionError


def test_a_shard_that_was_never_written_is_at_step_zero():
    head = unpack_head(None, None)
    assert (head.step, head.version, head.sequence, head.deleted_at, head.announced) == (0,) * 5
    assert unpack_books(None).tallies == {}


def test_a_head_reads_back_with_the_step_of_its_row():
    head = unpack_head(None, None)
    head.version, head.sequence, head.deleted_at, head.announced = 1, 2**40, 3, 4
    again = unpack_head(head.pack(), 9)
    assert (again.step, again.version, again.sequence) == (9, 1, 2**40)
    assert (again.deleted_at, again.announced) == (3, 4)


def test_books_read_back_with_the_newest_write_ids():
    books = Books()
    books.add("t#1", 2, 10)
    books.add("t#1", -1, -5)
    books.floors[3] = b"\x00\xff"
    books.write_ids = [number.to_bytes(8, "big") for number in range(WRITE_IDS_KEPT + 5)]
    again = unpack_books(books.pack())
    assert again.tallies == {"t#1": (1, 5)}
    assert again.floors == {3: b"\x00\xff"}
    assert again.write_ids == books.write_ids[:WRITE_IDS_KEPT]


@pytest.mark.parametrize("value", [b"", b"x", b"\x00\x00", b"\x00\x00[]", b"\x00\x00{}"])
def test_other_rows_are_refused(value):
    with pytest.raises(CorruptionError):
        unpack_books(value)
    with pytest.raises(CorruptionError):
        unpack_head(value, 1)
