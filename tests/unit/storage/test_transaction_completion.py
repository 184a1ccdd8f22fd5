"""Waiting for transactions in the way, within bounds."""

import asyncio
from typing import Any

import pytest

from hashrange.errors import TransactionConflictException
from hashrange.model.schema import KeyPart
from hashrange.storage import transaction_completion
from hashrange.storage.locks import PUT, Lock
from hashrange.storage.transaction_completion import BoundedWait, write_past_locks
from hashrange.storage.writes import LockMet
from tests.harness.schemas import make_table

LOCK = Lock(b"a" * 16, b"name", 1000.0, PUT, b"new")
DECISION: Any = object()


@pytest.fixture
def pauses(monkeypatch):
    """How long was waited each time; no time passes."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


class LockedEngine:
    """An engine on which a decision meets a lock some times."""

    def __init__(self, times):
        self.times = times

    async def write(self, decision):
        self.times -= 1
        if self.times < 0:
            return "written"
        return LockMet(make_table(KeyPart("p", "S")), b"key", LOCK)


def write(engine: Any) -> object:
    return asyncio.run(write_past_locks(engine, DECISION, 1000.0))


@pytest.fixture
def _in_progress(monkeypatch):
    async def finish_met(engine, met, now):
        return False

    monkeypatch.setattr(transaction_completion, "finish_met", finish_met)


def test_pauses_grow_up_to_a_bound_and_end(pauses):
    async def wait_out():
        waiting = BoundedWait()
        while await waiting.wait():
            pass

    asyncio.run(wait_out())
    assert len(pauses) == 10
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.001, 0.02)


@pytest.mark.usefixtures("_in_progress")
def test_a_write_waits_for_a_transaction_in_progress(pauses):
    assert write(LockedEngine(times=3)) == "written"
    assert len(pauses) == 3


@pytest.mark.usefixtures("_in_progress", "pauses")
def test_a_write_gives_up_on_a_transaction_that_takes_too_long():
    with pytest.raises(TransactionConflictException):
        write(LockedEngine(times=1000))


def test_a_write_goes_on_at_once_when_the_transaction_could_be_finished(pauses, monkeypatch):
    finished = []

    async def finish_met(engine, met, now):
        finished.append(met.lock)
        return True

    monkeypatch.setattr(transaction_completion, "finish_met", finish_met)
    assert write(LockedEngine(times=2)) == "written"
    assert (finished, pauses) == ([LOCK, LOCK], [])
