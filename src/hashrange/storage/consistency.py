"""Checks everything above the engine, table by table and stream by stream, and mends what it can.

For a server that is stopped: nothing else may write meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final, final

from hashrange.engine.base import Changes, Engine, Fence, RowKey
from hashrange.errors import AccessDeniedException, CorruptionError
from hashrange.model.records import TableRecord, make_table, unpack_record
from hashrange.model.streams import StreamRecord, unpack_stream
from hashrange.storage.catalog import STORE
from hashrange.storage.log import Change
from hashrange.storage.table_check import Finding, Progress, TableCheck, walk

_TABLE: Final = b"t"
_STREAM: Final = b"s"
_CHANGE: Final = b"r"
# Findings that are mended in one decision.
MENDED_TOGETHER_MAX: Final = 200


@final
class Consistency:
    """The check of all tables and streams."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self._engine = engine
        self._progress = progress

    async def findings(self) -> AsyncIterator[tuple[str, Finding]]:
        """Yield what is wrong, each with the name of what it concerns."""
        records: list[TableRecord] = []
        streams: list[StreamRecord] = []
        try:
            async for rows in walk(self._engine, STORE, 0):
                for key, row in rows:
                    if key[:1] == _TABLE:
                        records.append(unpack_record(row))
                    elif key[:1] == _STREAM:
                        streams.append(unpack_stream(row))
        except CorruptionError as error:
            yield "catalog", Finding(f"the catalog cannot be read: {error}")
            return
        for record in records:
            if record.gone_at is not None:
                continue
            async for finding in self._check_table(record):
                yield f"table {record.arn}", finding
        for stream in streams:
            async for finding in self._check_stream(stream):
                yield f"stream {stream.arn}", finding

    async def _check_table(self, record: TableRecord) -> AsyncIterator[Finding]:
        check = TableCheck(self._engine, make_table(record), self._progress)
        try:
            async for finding in check.findings():
                yield finding
        except (CorruptionError, AccessDeniedException) as error:
            yield Finding(f"the check ended early: {error}")

    async def _check_stream(self, stream: StreamRecord) -> AsyncIterator[Finding]:
        try:
            for shard in range(stream.store_shards):
                async for rows in walk(self._engine, stream.store, shard):
                    self._progress(len(rows))
                    for key, row in rows:
                        if key[:1] == _CHANGE and not Change(key, row).keys:
                            yield Finding("a change has no key")
        except (CorruptionError, AccessDeniedException) as error:
            yield Finding(f"the check ended early: {error}")


@final
class Mending:
    """The decision that carries out what findings ask for."""

    __slots__ = ("_findings", "fences", "keys")

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = findings
        self.fences: Sequence[Fence] = ()
        # It must name a row, but needs to see none.
        self.keys: Sequence[RowKey] = ((STORE, 0, b""),)

    def decide(self, _rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        for finding in self._findings:
            changes.puts.extend(finding.puts)
            changes.deletes.extend(finding.deletes)
            changes.tallies.extend(finding.tallies)
        return changes
