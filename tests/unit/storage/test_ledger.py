"""Ledger entries: one verdict for each attempt, and memory of client tokens."""

from __future__ import annotations

import pytest

from hashrange.engine.base import Changes, RowKey
from hashrange.errors import (
    CorruptionError,
    IdempotentParameterMismatchException,
    TransactionInProgressException,
)
from hashrange.limits import CLIENT_TOKEN_SECONDS, TRANSACTION_SECONDS_MAX
from hashrange.storage.ledger import (
    ABORTED,
    COMMITTED,
    DONE,
    PENDING,
    Closing,
    Entry,
    Opening,
    Verdict,
    entry_key,
    entry_row,
    open_row,
    random_name,
    token_name,
    unpack_entry,
    verdict_of,
)
from hashrange.storage.locks import Lock, unpack_lock

NOW = 1_700_000_000.25
MINE, OTHER = b"m" * 16, b"o" * 16
DIGEST = b"d" * 32
TOKEN = token_name("account/region/token")
PARTS = [("account", "region", "table", "t1", b"\x00key")]


def entry(state: int, attempt: bytes = OTHER, time: float = NOW, digest: bytes = DIGEST) -> Entry:
    return Entry(state, attempt, time, digest, PARTS)


def opening(*found: Entry | None, now: float = NOW) -> Changes:
    """Return what becomes of an opening that finds entries of this and the earlier window."""
    rows = [None if each is None else each.pack() for each in (*found, None, None)][:2]
    return Opening(TOKEN, entry(PENDING, MINE, now)).decide(rows)


def test_an_entry_comes_back_as_it_was() -> None:
    found = unpack_entry(entry(COMMITTED).pack())
    assert (found.state, found.attempt, found.time) == (COMMITTED, OTHER, NOW)
    assert (found.digest, found.parts) == (DIGEST, PARTS)
    with pytest.raises(CorruptionError):
        unpack_entry(b"short")


def test_a_lock_comes_back_as_it_was() -> None:
    lock = unpack_lock(Lock(MINE, b"name", NOW, 1, b"image").pack())
    assert (lock.attempt, lock.name, lock.time) == (MINE, b"name", NOW)
    assert (lock.kind, lock.image) == (1, b"image")
    with pytest.raises(CorruptionError):
        unpack_lock(b"short")


def test_windows_of_one_name_share_a_shard() -> None:
    current, before = Opening(TOKEN, entry(PENDING, MINE)).keys
    assert current[1] == before[1]
    assert current[2] != before[2]


def test_a_new_transaction_is_pending_and_open() -> None:
    changes = opening()
    assert changes.outcome is None
    key = Opening(TOKEN, entry(PENDING, MINE)).key
    rows: dict[RowKey, bytes] = {put[:3]: put[3] for put in changes.puts}
    assert unpack_entry(rows[entry_row(key)]).state == PENDING
    assert entry_key(open_row(key, NOW)[2]) == key
    assert open_row(key, NOW) in rows


def test_an_opening_whose_answer_was_lost_may_be_repeated() -> None:
    changes = opening(entry(PENDING, MINE))
    assert changes.outcome is None
    assert not changes.puts


@pytest.mark.parametrize("state", [COMMITTED, DONE])
def test_a_token_is_remembered_for_ten_minutes(state: int) -> None:
    later = NOW + CLIENT_TOKEN_SECONDS
    for found in ((entry(state),), (None, entry(state))):
        outcome = opening(*found, now=later).outcome
        assert isinstance(outcome, tuple)
        assert outcome[1].state == state


def test_a_token_is_free_again_after_ten_minutes_unless_locks_may_be_left() -> None:
    later = NOW + CLIENT_TOKEN_SECONDS + 1
    assert opening(None, entry(DONE), now=later).outcome is None
    for state in (PENDING, COMMITTED, ABORTED):
        assert opening(None, entry(state), now=later).outcome is not None


def test_a_token_of_a_transaction_in_progress_is_refused_until_that_is_overdue() -> None:
    with pytest.raises(TransactionInProgressException):
        opening(entry(PENDING), now=NOW + TRANSACTION_SECONDS_MAX)
    outcome = opening(entry(PENDING), now=NOW + TRANSACTION_SECONDS_MAX + 1).outcome
    assert isinstance(outcome, tuple)


def test_a_token_of_another_request_is_refused_unless_that_was_aborted() -> None:
    for state in (PENDING, COMMITTED, DONE):
        with pytest.raises(IdempotentParameterMismatchException):
            opening(entry(state, digest=b"x" * 32))
    assert opening(entry(ABORTED, digest=b"x" * 32)).outcome is not None


def test_what_was_decided_stays_decided() -> None:
    key = Opening(TOKEN, entry(PENDING, MINE)).key
    commit = Verdict(key, MINE, COMMITTED)
    changes = commit.decide([entry(PENDING, MINE).pack()])
    assert changes.outcome == COMMITTED
    assert unpack_entry(changes.puts[0][3]).state == COMMITTED
    for found, verdict in (
        (entry(COMMITTED, MINE), COMMITTED),
        (entry(DONE, MINE), COMMITTED),
        (entry(ABORTED, MINE), ABORTED),
        (entry(PENDING, OTHER), ABORTED),
        (entry(COMMITTED, OTHER), ABORTED),
    ):
        again = commit.decide([found.pack()])
        assert again.outcome == verdict
        assert not again.puts
    assert commit.decide([None]).outcome == ABORTED
    assert verdict_of(None, MINE) == ABORTED


def test_closing_keeps_a_committed_token_and_nothing_else() -> None:
    key = Opening(TOKEN, entry(PENDING, MINE)).key
    closing = Closing(key, MINE, NOW)
    kept = closing.decide([entry(COMMITTED, MINE).pack()])
    assert unpack_entry(kept.puts[0][3]).state == DONE
    assert kept.deletes == [open_row(key, NOW)]
    dropped = closing.decide([entry(ABORTED, MINE).pack()])
    assert dropped.deletes == [open_row(key, NOW), entry_row(key)]
    nameless = Opening(random_name(MINE), entry(PENDING, MINE)).key
    forgotten = Closing(nameless, MINE, NOW).decide([entry(COMMITTED, MINE).pack()])
    assert entry_row(nameless) in forgotten.deletes
    assert closing.decide([None]).deletes == [open_row(key, NOW)]


def test_closing_leaves_the_entry_of_another_attempt_alone() -> None:
    key = Opening(TOKEN, entry(PENDING, MINE)).key
    closing = Closing(key, MINE, NOW)
    later = closing.decide([entry(PENDING, OTHER, NOW + 60).pack()])
    assert later.deletes == [open_row(key, NOW)]
    same_moment = closing.decide([entry(PENDING, OTHER).pack()])
    assert not same_moment.deletes
