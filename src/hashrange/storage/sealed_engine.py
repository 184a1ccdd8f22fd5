"""An engine whose rows are sealed where a table is encrypted with a KMS key.

It stands before any other engine. Nothing above it sees a sealed row, and nothing below it a plain
one of such a table: items, index rows, stream records, expiry rows, locks and queues alike. Which
spaces are sealed, and with what, the catalog lists; the list is read again whenever the change
counter has moved, so a KMS key that was disabled closes its tables everywhere within a request.

On an engine that others use as well, the counter may move late: a process reads the record of a new
table before it hears of it. So the record itself tells how its table is sealed, to whoever reads
it: nothing is written to a table before its record was read.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Protocol, final

import orjson

from hashrange.engine.base import (
    STRONG,
    Changes,
    Decision,
    Engine,
    Fence,
    Lease,
    Row,
    RowKey,
    space_of,
)
from hashrange.errors import ClientError
from hashrange.model.keys import successor
from hashrange.model.records import DataKey, unpack_record
from hashrange.storage.sealed_rows import RowCipher, SpaceKeys, marker_of

CATALOG: Final = "catalog"
LISTED: Final = b"z"
"""Begins the keys of the catalog's rows about sealed spaces."""

RECORDS: Final = b"t"
"""Begins the keys of the records of tables."""

_PAGE_ROWS: Final = 200
_PAGE_BYTES: Final = 1 << 20


class Locksmith(Protocol):
    """Opens data keys."""

    async def open(self, data_key: DataKey, account: str, table: str) -> RowCipher:
        """Return the cipher of a table's data key, or raise what clients are told."""


@final
class SealedEngine:
    """Seals and opens the rows of an engine; one per process."""

    def __init__(self, engine: Engine, locksmith: Locksmith) -> None:
        self.inner = engine
        # Both are asked for with every request.
        self.capabilities = engine.capabilities
        self.counter = engine.counter
        self._locksmith = locksmith
        self._is_late = not engine.capabilities.atomic_across_shards
        self._counter = -1
        self._spaces: dict[str, SpaceKeys] = {}

    def read(
        self, keys: Sequence[RowKey], consistency: int
    ) -> Coroutine[Any, Any, list[bytes | None]]:
        if self._counter != self.counter() or self._is_late:
            return self._read(keys, consistency)
        if not self._spaces:
            return self.inner.read(keys, consistency)
        return self._read_now(keys, consistency)

    async def _read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        await self.refresh()
        rows = await self._read_now(keys, consistency)
        if self._is_late:
            await self._learn(keys, rows)
        return rows

    async def _learn(self, keys: Sequence[RowKey], rows: Sequence[bytes | None]) -> None:
        """Take note of how tables are sealed whose records were read."""
        for (store, _, key), row in zip(keys, rows, strict=True):
            if store == CATALOG and row is not None and key.startswith(RECORDS):
                listed = unpack_record(row).sealed_spaces()
                if listed is not None:
                    spaces = dict(self._spaces)
                    await self._add(spaces, listed)
                    self._spaces = spaces

    async def _read_now(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        self._check(keys)
        rows = await self.inner.read(keys, consistency)
        return open_rows(self._spaces, keys, rows)

    async def read_together(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        await self.refresh()
        self._check(keys)
        return open_rows(self._spaces, keys, await self.inner.read_together(keys))

    async def read_versions(self, keys: Sequence[RowKey]) -> list[tuple[bytes | None, int]]:
        await self.refresh()
        self._check(keys)
        found = await self.inner.read_versions(keys)
        rows = open_rows(self._spaces, keys, [row for row, _ in found])
        return [(row, version) for row, (_, version) in zip(rows, found, strict=True)]

    def range(
        self,
        store: str,
        shard: int,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> Coroutine[Any, Any, tuple[list[Row], bool]]:
        found = self.inner.range(
            store,
            shard,
            lower,
            upper,
            reverse=reverse,
            rows_max=rows_max,
            bytes_max=bytes_max,
            consistency=consistency,
        )
        if not self._spaces and self._counter == self.counter():
            return found
        return self._open_range(store, found)

    async def _open_range(
        self, store: str, found: Coroutine[Any, Any, tuple[list[Row], bool]]
    ) -> tuple[list[Row], bool]:
        try:
            await self.refresh()
            keys = self._usable(store)
        except BaseException:
            found.close()
            raise
        rows, ended = await found
        if keys is None:
            return rows, ended
        return [(key, keys.open(store, key, row)) for key, row in rows], ended

    def write(self, decision: Decision) -> Coroutine[Any, Any, object]:
        if self._counter != self.counter():
            return self._write(decision)
        return self._write_now(decision)

    async def _write(self, decision: Decision) -> object:
        await self.refresh()
        return await self._write_now(decision)

    def _write_now(self, decision: Decision) -> Coroutine[Any, Any, object]:
        if not self._spaces:
            return self.inner.write(decision)
        # A table can be deleted whose key cannot be used, which marks the end of its stream's log.
        self._check([key for key in decision.keys if key[0] == space_of(key[0])])
        return self.inner.write(_SealedDecision(decision, self._spaces))

    async def merge(self, store: str, rows: Sequence[tuple[int, bytes, bytes | None, int]]) -> None:
        await self.refresh()
        keys = self._usable(store)
        if keys is not None and keys.current is not None:
            seal = keys.current.seal
            rows = [
                (shard, key, None if row is None else seal(store, key, row), version)
                for shard, key, row, version in rows
            ]
        await self.inner.merge(store, rows)

    async def fence(self, space: str, shards: int, version: int) -> None:
        await self.inner.fence(space, shards, version)

    async def tally(self, space: str, shards: int, name: str) -> tuple[int, int]:
        return await self.inner.tally(space, shards, name)

    async def tidy(self) -> bool:
        return await self.inner.tidy()

    def appended(self, space: str) -> int:
        return self.inner.appended(space)

    async def watch(self, space: str, seen: int, seconds: float) -> None:
        await self.inner.watch(space, seen, seconds)

    async def lease(self, name: str, seconds: float) -> Lease | None:
        return await self.inner.lease(name, seconds)

    async def close(self) -> None:
        await self.inner.close()

    async def refresh(self) -> None:
        """Read which spaces are sealed, if anything was announced since that was last read."""
        counter = self.counter()
        if counter == self._counter:
            return
        spaces: dict[str, SpaceKeys] = {}
        lower = LISTED
        while True:
            rows, ended = await self.inner.range(
                CATALOG,
                0,
                lower,
                successor(LISTED),
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            for _, row in rows:
                await self._add(spaces, row)
            if ended:
                break
            lower = rows[-1][0] + b"\x00"
        self._spaces, self._counter = spaces, counter

    async def _add(self, spaces: dict[str, SpaceKeys], row: bytes) -> None:
        listed = orjson.loads(row)
        ciphers: dict[bytes, RowCipher] = {}
        refusal: Exception | None = None
        for members in listed["keys"]:
            data_key = DataKey(**members)
            try:
                cipher = await self._locksmith.open(data_key, listed["account"], listed["table"])
            except ClientError as error:
                refusal = error
            else:
                ciphers[bytes.fromhex(data_key.marker)] = cipher
        current = bytes.fromhex(listed["keys"][0]["marker"]) if listed["is_sealing"] else b""
        keys = SpaceKeys(ciphers, ciphers.get(current), refusal)
        spaces.update(dict.fromkeys(listed["spaces"], keys))

    def _usable(self, store: str) -> SpaceKeys | None:
        keys = self._spaces.get(space_of(store))
        if keys is not None and keys.refusal is not None:
            raise keys.refusal
        return keys

    def _check(self, rows: Sequence[RowKey]) -> None:
        if self._spaces:
            for store, _, _ in rows:
                self._usable(store)


def open_rows(
    spaces: dict[str, SpaceKeys], keys: Sequence[RowKey], rows: Sequence[bytes | None]
) -> list[bytes | None]:
    """Return rows as they were before they were sealed."""
    opened = list(rows)
    if spaces:
        for position, (store, _, key) in enumerate(keys):
            row = rows[position]
            space = spaces.get(space_of(store)) if row is not None else None
            if space is not None and row is not None:
                opened[position] = space.open(store, key, row)
    return opened


@final
class _SealedDecision:
    """A decision that sees rows opened, and whose changes are sealed.

    Decisions are pure: called again with the same rows, this one gives the same bytes as before.
    """

    __slots__ = ("_decision", "_sealed", "_spaces", "fences", "keys")

    def __init__(self, decision: Decision, spaces: dict[str, SpaceKeys]) -> None:
        self._decision = decision
        # By place among the changes: what was sealed there, and how.
        self._sealed: dict[int, tuple[tuple[str, bytes, bytes], bytes]] = {}
        self._spaces = spaces
        self.fences: Sequence[Fence] = decision.fences
        self.keys: Sequence[RowKey] = decision.keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = self._decision.decide(open_rows(self._spaces, self.keys, rows))
        puts, appends = changes.puts, changes.appends
        for position, (store, shard, key, row) in enumerate(puts):
            cipher = self._cipher(store, row)
            if cipher is not None:
                sealed = self._seal(position, cipher.seal, (store, key, row))
                puts[position] = (store, shard, key, sealed)
        for position, (store, shard, prefix, row) in enumerate(appends):
            cipher = self._cipher(store, row)
            if cipher is not None:
                sealed = self._seal(~position, cipher.seal_appended, (store, prefix, row))
                appends[position] = (store, shard, prefix, sealed)
        return changes

    def _seal(
        self,
        position: int,
        seal: Callable[[str, bytes, bytes], bytes],
        plain: tuple[str, bytes, bytes],
    ) -> bytes:
        known = self._sealed.get(position)
        if known is None or known[0] != plain:
            known = self._sealed[position] = (plain, seal(*plain))
        return known[1]

    def _cipher(self, store: str, row: bytes) -> RowCipher | None:
        """Return what to seal a row with; None if it is to stay as it is.

        An empty row tells nothing, and one that is sealed comes from a decision that gives the same
        changes twice.
        """
        keys = self._spaces.get(space_of(store))
        if keys is None or not row or marker_of(row) is not None:
            return None
        if keys.refusal is not None:
            raise keys.refusal
        return keys.current
