"""Costly writes: resolved before their turn to write, in slices, and only confirmed in it.

A decision runs while nobody else can write, so it must be short. One that would have to decode
large items raises `CostlyDecisionError` with the rows it was given. `write_decision` then resolves
each write on its row, with pauses, and submits the decision again. If the rows are still the same,
what was foreseen is right, because resolving is pure; if not, it is foreseen once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol, final

from hashrange.engine.base import Decision, Engine
from hashrange.errors import ConflictError, ValidationException
from hashrange.pauses import Pace
from hashrange.storage.images import Image

COSTLY_BYTES: Final = 128 * 1024
"""Rows of so many bytes together are not decoded during a turn to write."""

_ATTEMPTS_MAX: Final = 4


class Foreseeable(Protocol):
    """A write that can be resolved before its turn."""

    foreseen: Foreseen | None

    def reads_item(self) -> bool: ...

    def resolve_in_steps(self, row: bytes) -> Iterator[Image | None]: ...


@final
class Foreseen:
    """What a write makes of one row: an image, or a refusal."""

    __slots__ = ("_found", "_row")

    def __init__(self, row: bytes, found: Image | ValidationException) -> None:
        self._row = row
        self._found = found

    def is_about(self, row: bytes | None) -> bool:
        """Tell whether this is the row."""
        return self._row == row

    def image(self, row: bytes | None) -> Image | None:
        """Return the image if this is the row, or raise its refusal."""
        if not self.is_about(row):
            return None
        if isinstance(self._found, ValidationException):
            raise self._found
        return self._found


class CostlyDecisionError(Exception):
    """A decision needs more time than a turn to write may take."""

    def __init__(self, writes: Sequence[tuple[Foreseeable, bytes | None]]) -> None:
        super().__init__()
        self.writes = writes


def is_costly(write: Foreseeable, row: bytes) -> bool:
    """Tell whether a write would have to decode this row now."""
    return write.reads_item() and (write.foreseen is None or not write.foreseen.is_about(row))


def check_cost(writes: Sequence[tuple[Foreseeable, bytes | None]]) -> None:
    """Refuse a decision whose writes would decode too much."""
    total = 0
    for write, row in writes:
        if row is not None and is_costly(write, row):
            total += len(row)
    if total > COSTLY_BYTES:
        raise CostlyDecisionError(writes)


async def foresee(write: Foreseeable, row: bytes, pace: Pace) -> None:
    """Resolve a write on a row before its turn, in slices."""
    found: Image | ValidationException | None = None
    try:
        for image in write.resolve_in_steps(row):
            found = image
            await pace.pause()
    except ValidationException as refusal:
        found = refusal
    assert found is not None, "the last step gives the image"
    write.foreseen = Foreseen(row, found)


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
            if row is not None and is_costly(write, row):
                await foresee(write, row, pace)
        try:
            return await engine.write(decision)
        except CostlyDecisionError as again:
            costly = again
    raise ConflictError("large items change faster than a write to them can be prepared")
