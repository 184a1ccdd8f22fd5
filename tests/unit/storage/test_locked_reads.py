"""Strong reads of items that transactions have locked."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hashrange.engine.memory.cluster import ClusterMemoryEngine
from hashrange.errors import ConflictError
from hashrange.storage.ledger import ABORTED, COMMITTED, PENDING, Entry, entry_row
from hashrange.storage.locked_reads import read_past_locks
from hashrange.storage.locks import DELETE, PUT, Lock, lock_row

ATTEMPT, NAME = b"a" * 16, b"\x00" * 8 + b"name"
ITEM = ("t1", 0, b"key")
LOCK = Lock(ATTEMPT, NAME, 1000.0, PUT, b"new")


class Rows:
    """Rows by their keys, and what happens between two reads."""

    capabilities = ClusterMemoryEngine().capabilities

    def __init__(self, rows, *, between=()):
        self.rows = {ITEM: b"old", **rows}
        self.between = list(between)
        self.reads = 0

    async def read(self, keys, consistency):
        found = [self.rows.get(key) for key in keys]
        self.reads += 1
        if self.between:
            self.rows.update(self.between.pop(0))
        return found


def read_from(engine: Any) -> bytes | None:
    (found,) = asyncio.run(read_past_locks(engine, [ITEM]))
    return found


def decided(state):
    return {entry_row(NAME): Entry(state, ATTEMPT, 1000.0, bytes(32), []).pack()}


def test_an_item_without_a_lock_is_read_as_it_is():
    assert read_from(Rows({})) == b"old"


@pytest.mark.parametrize(
    ("state", "lock", "row"),
    [
        (PENDING, LOCK, b"old"),
        (ABORTED, LOCK, b"old"),
        (COMMITTED, LOCK, b"new"),
        (COMMITTED, LOCK.with_image(DELETE, b""), None),
    ],
)
def test_a_locked_item_is_what_the_ledger_says(state, lock, row):
    assert read_from(Rows({lock_row(ITEM): lock.pack(), **decided(state)})) == row


def test_a_lock_without_an_entry_is_of_an_aborted_transaction():
    assert read_from(Rows({lock_row(ITEM): LOCK.pack()})) == b"old"


def test_one_read_is_enough_where_the_rows_of_a_shard_are_seen_at_one_moment():
    engine = Rows({})
    engine.capabilities = replace(engine.capabilities, shard_snapshots=True)
    assert read_from(engine) == b"old"
    assert engine.reads == 1
    locked = Rows({lock_row(ITEM): LOCK.pack(), **decided(COMMITTED)})
    locked.capabilities = engine.capabilities
    assert read_from(locked) == b"new"


def test_a_lock_that_was_finished_meanwhile_is_looked_at_again():
    finished = {lock_row(ITEM): None, ITEM: b"new"}
    engine = Rows({lock_row(ITEM): LOCK.pack()}, between=[{}, {}, finished])
    assert read_from(engine) == b"new"


def test_a_read_gives_up_when_new_transactions_keep_coming():
    others = [Lock(bytes([number]) * 16, NAME, 1000.0, PUT, b"x") for number in range(1, 100)]
    changes = [{lock_row(ITEM): lock.pack()} for lock in others]
    with pytest.raises(ConflictError):
        read_from(Rows({lock_row(ITEM): LOCK.pack()}, between=changes))
