"""Builds one step of a shard from many decisions: each sees what the ones before it did. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, final

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Decision, space_of
from hashrange.engine.cassandra.shard_state import (
    BOOKS_KEY,
    HEAD_KEY,
    META_STORE,
    unpack_books,
    unpack_head,
)
from hashrange.errors import EngineError, StaleVersionError

STEP_BYTES_MAX: Final = 1 << 20
# A part of a key is not greater than the key, so it will do as a floor.
_FLOOR_BYTES: Final = 16

Place = tuple[str, int]
"""A space and a shard of it."""

Address = tuple[int, bytes]
"""The number of a store and a key."""

View = Mapping[Address, tuple[bytes, int]]
"""Rows of a shard as of one moment, each with the step that wrote it; absent ones are missing."""

Numbers = Callable[[str], int | None]
"""Finds the number of a store among those that are known."""


@final
class Answer:
    """What a decision came to: its changes, or the exception that refuses it."""

    __slots__ = ("changes", "error")

    def __init__(self, changes: Changes | None, error: Exception | None) -> None:
        self.changes = changes
        self.error = error


@final
class Step:
    """A step in the making. `missing` stores have to be looked up or made before it can be."""

    def __init__(self, place: Place, view: View) -> None:
        self.place = place
        head = view.get((META_STORE, HEAD_KEY))
        books = view.get((META_STORE, BOOKS_KEY))
        self.head = unpack_head(*head) if head else unpack_head(None, None)
        self.books = unpack_books(books[0] if books else None)
        self.expected = self.head.step
        self.rows: dict[Address, bytes | None] = {}
        self.answers: list[Answer] = []
        self.missing: set[str] = set()
        self.creates: set[str] = set()
        self.is_changed = False
        self.appended = 0
        self.announced = 0
        self.size = 0
        self._view = view

    def add(self, decision: Decision, numbers: Numbers, absent: Iterable[str]) -> None:
        """Decide on the rows as they are now, and add the changes."""
        try:
            self._check_versions(decision)
            changes = decision.decide([self._row(numbers(key[0]), key[2]) for key in decision.keys])
            if self._is_complete(changes, numbers, absent):
                self._apply(decision, changes, numbers)
        except Exception as error:  # noqa: BLE001 - it belongs to the caller of this decision
            self.answers.append(Answer(None, error))
        else:
            self.answers.append(Answer(changes, None))

    def _row(self, number: int | None, key: bytes) -> bytes | None:
        if number is None:
            return None
        address = (number, key)
        if address in self.rows:
            return self.rows[address]
        found = self._view.get(address)
        return None if found is None else found[0]

    def _check_versions(self, decision: Decision) -> None:
        for space, version in decision.fences:
            assert space == self.place[0], f"fence of another space, {space}"
            if version < self.head.version:
                raise StaleVersionError(f"built on version {version}, now {self.head.version}")

    def _is_complete(self, changes: Changes, numbers: Numbers, absent: Iterable[str]) -> bool:
        """Tell whether all stores are known; refuse changes of absent ones and elsewhere."""
        creates = [name for name in changes.creates if numbers(name) is None]
        self.creates.update(creates)
        gone = set(changes.drops) - set(changes.creates)
        needed = [(name, number) for name, number, *_ in (*changes.puts, *changes.appends)]
        for name, shard in (*needed, *((name, shard) for name, shard, _ in changes.deletes)):
            assert (space_of(name), shard) == self.place, f"{name} is not in shard {self.place}"
        required = {*(name for name, _ in needed), *(name for name, _, _ in changes.tallies)}
        missing = {name for name in required if numbers(name) is None} - set(creates)
        if refused := (missing & set(absent)) | (required & gone):
            raise EngineError(f"no store {min(refused)}")
        deleted = {name for name, _, _ in changes.deletes if numbers(name) is None}
        self.missing |= missing | (deleted - set(absent) - set(creates))
        return not self.missing and not self.creates

    def _apply(self, decision: Decision, changes: Changes, numbers: Numbers) -> None:
        rows, head = self.rows, self.head
        step = self.expected + 1
        for name, _, key in changes.deletes:
            if (number := numbers(name)) is not None:
                rows[number, key] = None
                head.deleted_at = step
        for name, _, key, value in changes.puts:
            rows[_known(numbers, name), key] = value
            self.size += len(key) + len(value)
        for name, _, prefix, value in changes.appends:
            head.sequence += 1
            key = prefix + head.sequence.to_bytes(SEQUENCE_BYTES, "big")
            rows[_known(numbers, name), key] = value
            self.size += len(key) + len(value)
        for name, count, size in changes.tallies:
            self.books.add(tally_name(name, _known(numbers, name)), count, size)
        self.appended += len(changes.appends)
        self.announced += changes.is_announced
        versions = [version for space, version in changes.fences if space == self.place[0]]
        if changes.deletes or changes.puts or changes.appends or changes.tallies:
            versions += [version for _, version in decision.fences]
            self.is_changed = True
        newest = max(versions, default=0)
        if newest > head.version or changes.is_announced:
            self.is_changed = True
        head.version = max(head.version, newest)

    def raise_floor(self, store: int, first: bytes) -> None:
        """Note that a store had no rows before `first` when this step was built."""
        self.books.floors[store] = max(first[:_FLOOR_BYTES], self.books.floors.get(store, b""))

    def finish(self, write_id: bytes, is_gone: Callable[[str, int], bool]) -> None:
        """Complete head and books."""
        floors = self.books.floors
        if floors:
            for (store, key), value in self.rows.items():
                if value is not None and key < floors.get(store, b""):
                    floors[store] = key[:_FLOOR_BYTES]
        self.head.step = self.expected + 1
        self.head.announced += self.announced
        self.books.write_ids.insert(0, write_id)
        for name in list(self.books.tallies):
            counted, _, number = name.partition("#")
            if is_gone(counted, int(number)):
                del self.books.tallies[name]


def tally_name(store: str, number: int) -> str:
    """Return the name under which the tally of a store is kept."""
    return f"{store}#{number}"


def _known(numbers: Numbers, name: str) -> int:
    number = numbers(name)
    assert number is not None
    return number


def build_step(
    place: Place,
    view: View,
    decisions: Sequence[Decision],
    numbers: Numbers,
    absent: Iterable[str],
) -> Step:
    """Return the step of the first decisions, as many as fit; at least of one."""
    step = Step(place, view)
    for decision in decisions:
        step.add(decision, numbers, absent)
        if step.size > STEP_BYTES_MAX:
            break
    return step
