"""Seals the rows of a table anew after its KMS key was changed, set or taken away.

Requests go on meanwhile: what they write is sealed as it should be, and what they read opens with
the old data key or the new one. When no row is left that is sealed otherwise, the old data keys are
forgotten. Each chunk is a decision on the rows as they are, so work done twice does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Fence, RowKey, space_of
from hashrange.errors import AccessDeniedException, ResourceNotFoundException
from hashrange.model.keys import successor
from hashrange.model.records import TableRecord
from hashrange.model.streams import unpack_stream
from hashrange.storage.catalog import STORE, Catalog, Edit, streams_prefix
from hashrange.storage.catalog_followup import extra_stores
from hashrange.storage.layout import END_OF_KEYS
from hashrange.storage.sealed_engine import LISTED, SealedEngine
from hashrange.storage.sealed_rows import marker_of

_CHUNK_ROWS: Final = 100
_CHUNK_BYTES: Final = 1 << 20
_PAGE_ROWS: Final = 200


@final
class _Reseal:
    """The decision to write rows again as they are, by which they are sealed anew."""

    __slots__ = ("fences", "keys")

    def __init__(self, keys: Sequence[RowKey]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        for key, row in zip(self.keys, rows, strict=True):
            if row is not None:
                changes.puts.append((*key, row))
        return changes


@final
class Resealing:
    """The service; one per process."""

    def __init__(self, engine: SealedEngine, catalog: Catalog) -> None:
        self._engine = engine
        self._catalog = catalog
        self._counter = -1

    async def step(self) -> bool:
        """Seal the rows of the tables that need it; return whether there was one."""
        counter = self._engine.counter()
        if counter == self._counter:
            return False
        done = False
        for record in await self._waiting():
            try:
                await self._reseal(record)
                done = True
            except (AccessDeniedException, ResourceNotFoundException):
                continue  # its key cannot be used now, or it is gone
        self._counter = counter
        return done

    async def _waiting(self) -> list[TableRecord]:
        rows = await self._catalog_rows(LISTED)
        found: list[TableRecord] = []
        for key, _ in rows:
            account, region, name, _ = key[len(LISTED) :].decode().split("\x00")
            record = await self._catalog.find(account, region, name)
            if record is not None and record.is_resealing:
                found.append(record)
        return found

    async def _catalog_rows(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        lower = prefix
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                successor(prefix),
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_CHUNK_BYTES,
                consistency=STRONG,
            )
            found += rows
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"

    async def _reseal(self, record: TableRecord) -> None:
        wanted = record.data_keys[0].marker if record.encryption_key_arn is not None else ""
        marker = bytes.fromhex(wanted) if wanted else None
        is_complete = True
        for store, shards in await self._stores(record):
            if space_of(store) != record.store and not self._engine.capabilities.indexes_in_step:
                # Such rows are written by a follower only, with versions that nobody else knows.
                is_complete = False
                continue
            for shard in range(shards):
                await self._reseal_shard(store, shard, marker)
        markers = [key.marker for key in record.data_keys]

        def finish(found: TableRecord | None) -> Edit:
            if found is None or found.gone_at is not None:
                raise ResourceNotFoundException
            if [key.marker for key in found.data_keys] == markers:
                found.is_resealing = False
                if is_complete:
                    found.data_keys = found.data_keys[: 1 if wanted else 0]
            return Edit(found)

        await self._catalog.change(record.account, record.region, record.name, finish)

    async def _stores(self, record: TableRecord) -> list[tuple[str, int]]:
        stores = [*record.stores(), *extra_stores(record, self._engine.capabilities)]
        stores += record.snapshots.values()
        if record.recovery is not None:
            stores.append(record.recovery.store)
        prefix = streams_prefix(record.account, record.region, record.name)
        for _, row in await self._catalog_rows(prefix):
            stream = unpack_stream(row)
            if space_of(stream.store) == record.store:
                stores.append(stream.store)
        shards = {index.store: index.shards for index in record.indexes}
        return [(store, shards.get(store, record.shards)) for store in dict.fromkeys(stores)]

    async def _reseal_shard(self, store: str, shard: int, marker: bytes | None) -> None:
        lower = b""
        while True:
            rows, ended = await self._engine.inner.range(
                store,
                shard,
                lower,
                END_OF_KEYS,
                reverse=False,
                rows_max=_CHUNK_ROWS,
                bytes_max=_CHUNK_BYTES,
                consistency=STRONG,
            )
            keys = list(_otherwise(store, shard, rows, marker))
            if keys:
                await self._engine.write(_Reseal(keys))
            if ended:
                return
            lower = rows[-1][0] + b"\x00"


def _otherwise(
    store: str, shard: int, rows: Sequence[tuple[bytes, bytes]], marker: bytes | None
) -> Iterator[RowKey]:
    """Yield the keys of rows that are not sealed as they should be; empty rows never are."""
    for key, row in rows:
        if row and marker_of(row) != marker:
            yield store, shard, key
