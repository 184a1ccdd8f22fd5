"""Triggers of the server's settings: creates and deletes their mappings as streams come and go.

A trigger of the settings names a table. Its mapping is made once the table has a stream, and again
when the stream is enabled anew; it is deleted when the settings do not name it any more, or when
nothing of its stream is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final
from uuid import UUID, uuid5

from hashrange.clock import Clock
from hashrange.model.triggers import MappingRecord
from hashrange.storage.catalog import Catalog
from hashrange.storage.stream_records import split_arn
from hashrange.storage.triggers import TriggerStore

_LOGGER = logging.getLogger("hashrange.triggers")

_NAMESPACE: Final = UUID("5b4c0a6e-0c0e-4b62-9a0a-6d5e0f1f6a11")


@final
class ConfiguredTriggers:
    """Mappings wanted by the settings; each names a table where its stream's ARN will be."""

    def __init__(
        self,
        catalog: Catalog,
        store: TriggerStore,
        clock: Clock,
        wanted: Sequence[MappingRecord],
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._clock = clock
        self._wanted = wanted

    async def apply(self) -> None:
        """Create, change and delete mappings until they match the settings."""
        known = {m.uuid: m for m in await self._store.mappings() if m.is_configured}
        for wanted in self._wanted:
            arn = await self._stream_of(wanted)
            if arn is not None:
                await self._want(wanted, arn, known)
        kept = {(m.account, m.region, m.stream_arn, m.function) for m in self._wanted}
        for mapping in known.values():
            parts = split_arn(mapping.stream_arn)
            table = "" if parts is None else parts[2]
            if (mapping.account, mapping.region, table, mapping.function) not in kept:
                await self._store.delete(mapping.uuid)

    async def _stream_of(self, wanted: MappingRecord) -> str | None:
        record = await self._catalog.find(wanted.account, wanted.region, wanted.stream_arn)
        stream = None if record is None else record.stream
        return stream.arn if stream is not None and stream.is_enabled else None

    async def _want(self, wanted: MappingRecord, arn: str, known: dict[str, MappingRecord]) -> None:
        uuid = str(uuid5(_NAMESPACE, f"{arn} {wanted.function}"))
        mapping = replace(wanted, uuid=uuid, stream_arn=arn, is_configured=True)
        before = known.get(uuid)
        if before is None:
            mapping.modified_at = self._clock.now()
            other = await self._store.create(mapping)
            if other is not None:
                _LOGGER.debug("mapping %s already joins %s to %s", other, arn, wanted.function)
            return
        mapping.modified_at = before.modified_at
        if mapping != before:
            mapping.modified_at = self._clock.now()
            await self._store.update(uuid, lambda _: mapping)
