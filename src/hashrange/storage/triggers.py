"""The store of triggers: functions, mappings and the positions of mappings.

function row  := FunctionRecord as JSON     under "f" account 0 region 0 name
mapping row   := MappingRecord as JSON      under "m" uuid
pair row      := uuid                       under "u" stream ARN 0 function
position row  := Position as JSON           under "p" uuid shard id
result row    := text                       under "r" uuid

A mapping that starts at LATEST is created with the positions behind the newest changes of the
shards there are. What the process that runs the triggers has to notice is announced; positions and
results are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Engine, Fence, Row, RowKey
from hashrange.model.keys import successor
from hashrange.model.triggers import (
    NO_RESULT,
    FunctionRecord,
    MappingRecord,
    Position,
    World,
    unpack,
)
from hashrange.storage.stream_records import split_arn
from hashrange.storage.streams import find_stream, newest_change

STORE: Final = "triggers"

_PAGE_ROWS: Final = 200
_PAGE_BYTES: Final = 1 << 20

Editor = Callable[[MappingRecord], MappingRecord]
"""A pure function from a mapping as it is to what it is to be."""


@final
class TriggerStore:
    """The functions and mappings of all accounts and regions."""

    def __init__(self, engine: Engine, configured: Sequence[FunctionRecord] = ()) -> None:
        self._engine = engine
        # Functions of the server's settings, which every account and region knows.
        self.configured: dict[str, FunctionRecord] = {
            function.name: function for function in configured
        }

    async def function(self, world: World, name: str) -> FunctionRecord | None:
        """Return the function a name means in a world."""
        (row,) = await self._engine.read([(STORE, 0, _function_key(world, name))], STRONG)
        return self.configured.get(name) if row is None else unpack(FunctionRecord, row)

    async def functions(self, world: World) -> list[FunctionRecord]:
        """Return the functions of a world in the order of their names."""
        found = dict(self.configured)
        for _, row in await self._rows(_function_key(world, "")):
            function = unpack(FunctionRecord, row)
            found[function.name] = function
        return [found[name] for name in sorted(found)]

    async def put_function(self, world: World, function: FunctionRecord) -> None:
        """Register a function, in place of one with the same name."""
        changes = _seen_by_all()
        changes.puts.append((STORE, 0, _function_key(world, function.name), function.pack()))
        await self._engine.write(_Fixed(changes))

    async def delete_function(self, world: World, name: str) -> bool:
        """Forget a function; tell whether it was registered."""
        deletion = _Deletion((STORE, 0, _function_key(world, name)))
        return bool(await self._engine.write(deletion))

    async def mapping(self, uuid: str) -> MappingRecord | None:
        """Return a mapping."""
        (row,) = await self._engine.read([(STORE, 0, b"m" + uuid.encode())], STRONG)
        return None if row is None else unpack(MappingRecord, row)

    async def mappings(self) -> list[MappingRecord]:
        """Return all mappings in the order of their ids."""
        return [unpack(MappingRecord, row) for _, row in await self._rows(b"m")]

    async def result(self, uuid: str) -> str:
        """Return the result of the last batch of a mapping."""
        (row,) = await self._engine.read([(STORE, 0, b"r" + uuid.encode())], STRONG)
        return NO_RESULT if row is None else row.decode()

    async def create(self, mapping: MappingRecord) -> str | None:
        """Store a new mapping; if the pair already has one, return its id instead."""
        positions: dict[str, Position] = {}
        if mapping.starting_position == "LATEST":
            positions = await self._latest(mapping.stream_arn, mapping.modified_at)
        found = await self._engine.write(_Creation(mapping, positions))
        return found if isinstance(found, str) else None

    async def _latest(self, stream_arn: str, now: float) -> dict[str, Position]:
        """Return the positions behind all changes that a stream has now, by the ids of shards."""
        parts = split_arn(stream_arn)
        stream = None if parts is None else await find_stream(self._engine, *parts, now)
        if stream is None:
            return {}
        return {
            shard.id: Position(
                [await newest_change(self._engine, stream, shard) + 1],
                has_ended=shard.closed_at is not None,
            )
            for shard in stream.shards
        }

    async def update(self, uuid: str, edit: Editor) -> MappingRecord | str | None:
        """Change a mapping, if it is there.

        Returns the id of another mapping when that has the stream and the function already.
        """
        while True:
            before = await self.mapping(uuid)
            if before is None:
                return None
            outcome = await self._engine.write(_Update(before, edit))
            if isinstance(outcome, MappingRecord | str):
                return outcome

    async def delete(self, uuid: str) -> MappingRecord | None:
        """Forget a mapping and everything about it."""
        mapping = await self.mapping(uuid)
        if mapping is None:
            return None
        tail = uuid.encode()
        doomed = [(STORE, 0, key) for key, _ in await self._rows(b"p" + tail)]
        doomed += [(STORE, 0, b"r" + tail), (STORE, 0, _pair_key(mapping))]
        await self._engine.write(_Deletion((STORE, 0, b"m" + tail), doomed))
        return mapping

    async def positions(self, uuid: str) -> dict[str, Position]:
        """Return how far a mapping has come, by the ids of shards."""
        prefix = b"p" + uuid.encode()
        return {
            key[len(prefix) :].decode(): unpack(Position, row)
            for key, row in await self._rows(prefix)
        }

    async def save(
        self, uuid: str, positions: Mapping[str, Position | None], result: str | None
    ) -> None:
        """Keep how far a mapping has come; None forgets a shard."""
        await self._engine.write(_Progress(uuid, positions, result))

    async def _rows(self, prefix: bytes) -> list[Row]:
        found: list[Row] = []
        lower = prefix
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                successor(prefix),
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            found.extend(rows)
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"


def _function_key(world: World, name: str) -> bytes:
    return f"f{world[0]}\x00{world[1]}\x00{name}".encode()


def _pair_key(mapping: MappingRecord) -> bytes:
    return f"u{mapping.stream_arn}\x00{mapping.function}".encode()


def _seen_by_all(outcome: object = None) -> Changes:
    """Return changes that are announced to the process that runs the triggers."""
    changes = Changes(outcome)
    changes.creates.append(STORE)
    changes.is_announced = True
    return changes


@final
class _Fixed:
    """The decision for changes that depend on nothing."""

    def __init__(self, changes: Changes) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [put[:3] for put in changes.puts]
        self._changes = changes

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        return self._changes


@final
class _Deletion:
    """The decision that deletes a row, if it is there, and others with it."""

    def __init__(self, key: RowKey, others: Sequence[RowKey] = ()) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (key,)
        self._others = others

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        if rows[0] is None:
            return Changes(outcome=False)
        changes = _seen_by_all(outcome=True)
        changes.deletes = [self.keys[0], *self._others]
        return changes


@final
class _Creation:
    """The decision that keeps a new mapping."""

    def __init__(self, mapping: MappingRecord, positions: Mapping[str, Position]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((STORE, 0, _pair_key(mapping)),)
        self._mapping = mapping
        self._positions = positions

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        if rows[0] is not None:
            return Changes(outcome=rows[0].decode())
        changes = _seen_by_all()
        uuid = self._mapping.uuid.encode()
        changes.puts.append((STORE, 0, b"m" + uuid, self._mapping.pack()))
        changes.puts.append((*self.keys[0], uuid))
        for shard, position in self._positions.items():
            changes.puts.append((STORE, 0, b"p" + uuid + shard.encode(), position.pack()))
        return changes


@final
class _Update:
    """The decision that changes a mapping, unless it was changed in the meantime."""

    def __init__(self, before: MappingRecord, edit: Editor) -> None:
        self.fences: Sequence[Fence] = ()
        self._row = before.pack()
        self._old_pair = _pair_key(before)
        self._after = edit(unpack(MappingRecord, self._row))
        self.keys: Sequence[RowKey] = (
            (STORE, 0, b"m" + before.uuid.encode()),
            (STORE, 0, _pair_key(self._after)),
        )

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        uuid = self._after.uuid.encode()
        if rows[0] != self._row:
            return Changes()
        if rows[1] is not None and rows[1] != uuid:
            return Changes(outcome=rows[1].decode())
        changes = _seen_by_all(outcome=self._after)
        changes.deletes.append((STORE, 0, self._old_pair))
        changes.puts.append((*self.keys[0], self._after.pack()))
        changes.puts.append((*self.keys[1], uuid))
        return changes


@final
class _Progress:
    """The decision that keeps positions, as long as the mapping is there."""

    def __init__(
        self, uuid: str, positions: Mapping[str, Position | None], result: str | None
    ) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((STORE, 0, b"m" + uuid.encode()),)
        self._uuid = uuid.encode()
        self._positions = dict(positions)
        self._result = result

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        if rows[0] is None:
            return changes
        for shard, position in self._positions.items():
            key = b"p" + self._uuid + shard.encode()
            if position is None:
                changes.deletes.append((STORE, 0, key))
            else:
                changes.puts.append((STORE, 0, key, position.pack()))
        if self._result is not None:
            changes.puts.append((STORE, 0, b"r" + self._uuid, self._result.encode()))
        return changes
