"""Entries of the ledger: what was decided about an attempt."""

import pytest

from hashrange.errors import CorruptionError
from hashrange.storage.ledger import (
    ABORTED,
    COMMITTED,
    DONE,
    PENDING,
    Entry,
    entry_key,
    entry_row,
    open_row,
    unpack_entry,
    verdict_of,
)

ATTEMPT, OTHER = b"a" * 16, b"b" * 16


def entry(state):
    return Entry(state, ATTEMPT, 1000.5, bytes(32), [])


@pytest.mark.parametrize(
    ("state", "verdict"),
    [(PENDING, PENDING), (COMMITTED, COMMITTED), (ABORTED, ABORTED), (DONE, COMMITTED)],
)
def test_an_attempt_is_what_its_entry_says(state, verdict):
    assert verdict_of(entry(state).pack(), ATTEMPT) == verdict


def test_an_attempt_without_an_entry_of_its_own_is_aborted():
    assert verdict_of(None, ATTEMPT) == ABORTED
    assert verdict_of(entry(COMMITTED).pack(), OTHER) == ABORTED


def test_an_entry_comes_back_from_its_row():
    found = unpack_entry(entry(PENDING).pack())
    assert (found.state, found.attempt, found.time) == (PENDING, ATTEMPT, 1000.5)
    assert (found.digest, list(found.parts)) == (bytes(32), [])


def test_an_open_row_stands_for_its_entry_in_the_same_shard():
    key = b"\x00" * 8 + b"name"
    store, shard, opened = open_row(key, 1000.5)
    assert store != entry_row(key)[0] or opened != key
    assert shard == entry_row(key)[1]
    assert entry_key(opened) == key


@pytest.mark.parametrize("row", [b"", b"short", bytes(200)])
def test_a_row_that_is_no_entry_is_corruption(row):
    with pytest.raises(CorruptionError):
        unpack_entry(row)
