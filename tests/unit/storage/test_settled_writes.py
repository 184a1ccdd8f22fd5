"""Writes whose outcome is unknown are tried again."""

import asyncio
from typing import Any

import pytest

from hashrange.errors import UnknownOutcomeError
from hashrange.storage.settled_writes import write_surely

DECISION: Any = object()


class ForgetfulEngine:
    """An engine that loses the outcome of its first writes."""

    def __init__(self, losses):
        self.losses = losses
        self.writes = []

    async def write(self, decision):
        self.writes.append(decision)
        if len(self.writes) <= self.losses:
            raise UnknownOutcomeError("lost")
        return "outcome"


def write_to(engine: Any) -> object:
    return asyncio.run(write_surely(engine, DECISION))


def test_a_write_is_repeated_until_its_outcome_is_known():
    engine = ForgetfulEngine(losses=3)
    assert write_to(engine) == "outcome"
    assert engine.writes == [DECISION] * 4


def test_a_write_is_not_repeated_for_ever():
    engine = ForgetfulEngine(losses=1000)
    with pytest.raises(UnknownOutcomeError):
        write_to(engine)
    assert len(engine.writes) == 20
