"""Costly writes: resolved before their turn to write, off the event loop, and confirmed in it.

A decision runs while nobody else can write, so it must be short. One that would have to decode
large items, or to measure very many values, changes nothing, and its outcome is `Costly`.
`write_decision` then waits until no other long work goes on, submits it once more to learn the
rows, resolves each write on its row, and submits the decision again. If the rows are still the
same, what was foreseen is right, because resolving is pure; if not, it is foreseen once more. Only
one decision at a time is given its rows, because those of many would fill the memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, final

from hashrange.engine.base import Decision
from hashrange.errors import ConflictError, ValidationException
from hashrange.pauses import held_lane, in_thread
from hashrange.storage.images import Image

COSTLY_BYTES: Final = 128 * 1024
"""Rows of so many bytes together are not decoded during a turn to write."""

_ATTEMPTS_MAX: Final = 5


class Foreseeable(Protocol):
    """A write that can be resolved before its turn."""

    foreseen: Foreseen | None
    has_turn: bool
    is_bulky: bool

    def reads_item(self) -> bool: ...

    def resolve(self, row: bytes | None) -> Image: ...

    def slim(self, image: Image) -> Image: ...


@final
class Foreseen:
    """What a write makes of one row: an image, or a refusal."""

    __slots__ = ("_found", "_row")

    def __init__(self, row: bytes | None, found: Image | ValidationException) -> None:
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


@final
class Costly:
    """The outcome of a decision that needs more time than a turn to write may take.

    `rows` are those of its writes, and empty unless the writes have their turn of long work.
    """

    __slots__ = ("rows", "writes")

    def __init__(self, pairs: Sequence[tuple[Foreseeable, bytes | None]]) -> None:
        self.writes = [write for write, _ in pairs]
        has_turn = all(write.has_turn for write in self.writes)
        self.rows = [row for _, row in pairs] if has_turn else []


def is_costly(write: Foreseeable, row: bytes | None) -> bool:
    """Tell whether a write has something to decode or to measure, and it is not foreseen."""
    return (write.is_bulky or (row is not None and write.reads_item())) and (
        write.foreseen is None or not write.foreseen.is_about(row)
    )


def too_costly(pairs: Sequence[tuple[Foreseeable, bytes | None]]) -> Costly | None:
    """Return the outcome of a decision whose writes would take too long, otherwise None."""
    total = 0
    for write, row in pairs:
        if is_costly(write, row):
            total += COSTLY_BYTES + 1 if row is None or write.is_bulky else len(row)
    return Costly(pairs) if total > COSTLY_BYTES else None


def foresee(write: Foreseeable, row: bytes | None) -> Foreseen:
    """Resolve a write on a row before its turn; what it does not need of the items is let go."""
    try:
        return Foreseen(row, write.slim(write.resolve(row)))
    except ValidationException as refusal:
        return Foreseen(row, refusal)


Submit = Callable[[Decision], Awaitable[object]]
"""Has an engine carry out a decision."""


async def write_decision(submit: Submit, decision: Decision) -> object:
    """Carry out a decision of item writes; a costly one is foreseen."""
    outcome = await submit(decision)
    return await write_foreseen(submit, decision, outcome) if type(outcome) is Costly else outcome


async def write_foreseen(submit: Submit, decision: Decision, costly: Costly) -> object:
    """Carry out a decision that is costly."""
    async with held_lane():
        for write in costly.writes:
            write.has_turn = True
        for _ in range(_ATTEMPTS_MAX):
            for write, row in zip(costly.writes, costly.rows, strict=False):
                if is_costly(write, row):
                    write.foreseen = await in_thread(foresee, write, row)
            outcome = await submit(decision)
            if type(outcome) is not Costly:
                return outcome
            costly = outcome
    raise ConflictError("large items change faster than a write to them can be prepared")
