"""Locks of transactions: where they lie, what they keep, what they do."""

import pytest

from hashrange.errors import CorruptionError
from hashrange.storage.locks import CHECK, DELETE, PUT, Lock, lock_row, unpack_lock

LOCK = Lock(b"a" * 16, b"ledger key", 1000.5, PUT, b"new row")


def test_a_lock_lies_under_the_key_of_its_item_in_a_store_of_its_space():
    assert lock_row(("t1", 3, b"key")) == ("t1.k", 3, b"key")


def test_a_lock_comes_back_from_its_row():
    found = unpack_lock(LOCK.pack())
    assert (found.attempt, found.name, found.time) == (b"a" * 16, b"ledger key", 1000.5)
    assert (found.kind, found.image) == (PUT, b"new row")


@pytest.mark.parametrize(
    ("kind", "image", "row"), [(CHECK, b"", b"old"), (PUT, b"new", b"new"), (DELETE, b"", None)]
)
def test_a_committed_lock_keeps_replaces_or_removes_its_item(kind, image, row):
    lock = LOCK.with_image(kind, image)
    assert (lock.attempt, lock.name) == (LOCK.attempt, LOCK.name)
    assert lock.applied_to(b"old") == row


def test_a_row_that_is_no_lock_is_corruption():
    with pytest.raises(CorruptionError):
        unpack_lock(b"short")
