"""Costly writes: resolved before their turn to write, in slices, and only confirmed in it.

A decision runs while nobody else can write, so it must be short. One that would have to decode
large items raises `CostlyDecisionError` with the rows it was given. `write_decision` then resolves
each write on its row, with pauses, and submits the decision again. If the rows are still the same,
what was foreseen is right, because resolving is pure; if not, it is foreseen once more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

from hashrange.engine.base import Decision, Engine
from hashrange.errors import ConflictError
from hashrange.pauses import Pace

COSTLY_BYTES: Final = 128 * 1024
"""Rows of so many bytes together are not decoded during a turn to write."""

_ATTEMPTS_MAX: Final = 4


class Foreseeable(Protocol):
    """A write that can be resolved before its turn."""

    def foresee(self, row: bytes | None, pace: Pace) -> Awaitable[None]: ...

    def is_costly(self, row: bytes | None) -> bool: ...


class CostlyDecisionError(Exception):
    """A decision needs more time than a turn to write may take."""

    def __init__(self, writes: Sequence[tuple[Foreseeable, bytes | None]]) -> None:
        super().__init__()
        self.writes = writes


def check_cost(writes: Sequence[tuple[Foreseeable, bytes | None]]) -> None:
    """Refuse a decision whose writes would decode too much."""
    total = 0
    for write, row in writes:
        if row is not None and write.is_costly(row):
            total += len(row)
    if total > COSTLY_BYTES:
        raise CostlyDecisionError(writes)


async def write_decision(engine: Engine, decision: Decision) -> object:
    """Carry out a decision of item writes; a costly one is foreseen."""
    try:
        return await engine.write(decision)
    except CostlyDecisionError as costly:
        return await write_foreseen(engine, decision, costly)


async def write_foreseen(engine: Engine, decision: Decision, costly: CostlyDecisionError) -> object:
    """Carry out a decision that was refused because it is costly."""
    for _ in range(_ATTEMPTS_MAX):
        pace = Pace()
        for write, row in costly.writes:
            await write.foresee(row, pace)
        try:
            return await engine.write(decision)
        except CostlyDecisionError as again:
            costly = again
    raise ConflictError("large items change faster than a write to them can be prepared")
