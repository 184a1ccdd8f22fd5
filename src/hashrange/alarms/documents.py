"""Documents of alarms, topics, dashboards and rules: one space with one shard.

row := JSON object      under kind 0 account 0 region 0 name; names may hold zeros of their own

A change is a decision on the documents it names, so processes that change the same one do not lose
each other's changes. A parcel in the outbox moves the engine's change counter, which tells the
process that sends parcels to look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey

STORE: Final = "monitoring"
OUTBOX: Final = "outbox"
_ROWS_MAX: Final = 500
_BYTES_MAX: Final = 1 << 20

Document = dict[str, Any]
Key = bytes
Editor = Callable[[dict[Key, Document | None]], dict[Key, Document | None]]
"""A pure function from documents as they are to those that change; None deletes one."""


def document_key(*parts: str) -> Key:
    """Return where a document is: kind, account, region and name, or what there is of these."""
    return "\x00".join(parts).encode()


def prefix_of(*parts: str) -> Key:
    """Return what the keys of several documents begin with."""
    return document_key(*parts, "")


_PARCELS: Final = prefix_of(OUTBOX)


@final
class Documents:
    """All documents, on an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def counter(self) -> int:
        """Return a number that moves when there is a new parcel; it may move without one, too."""
        return self._engine.counter()

    async def get(self, key: Key) -> Document | None:
        """Return a document, None if there is none."""
        (row,) = await self._engine.read([(STORE, 0, key)], STRONG)
        return None if row is None else orjson.loads(row)

    async def list(self, prefix: Key, *, after: Key | None = None) -> list[tuple[Key, Document]]:
        """Return the documents whose keys begin with a prefix, in the order of their keys."""
        found: list[tuple[Key, Document]] = []
        lower = prefix if after is None else after + b"\x00"
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                prefix + b"\xff",
                reverse=False,
                rows_max=_ROWS_MAX,
                bytes_max=_BYTES_MAX,
                consistency=STRONG,
            )
            found.extend((key, orjson.loads(row)) for key, row in rows)
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"

    async def change(self, keys: Sequence[Key], edit: Editor) -> None:
        """Change documents atomically; what the editor raises refuses the change."""
        await self._engine.write(_Change(keys, edit))

    async def put(self, key: Key, document: Document) -> None:
        """Write a document, whatever was there."""
        await self.change([key], lambda _: {key: document})

    async def delete(self, keys: Sequence[Key]) -> None:
        """Delete documents, those that are there."""
        if keys:
            await self.change(keys, lambda _: dict.fromkeys(keys))


@final
class _Change:
    """The decision of one change."""

    def __init__(self, keys: Sequence[Key], edit: Editor) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [(STORE, 0, key) for key in keys]
        self._edit = edit

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        before = {
            key: None if row is None else orjson.loads(row)
            for (_, _, key), row in zip(self.keys, rows, strict=True)
        }
        changes = Changes()
        changes.creates = [STORE]
        for key, document in self._edit(before).items():
            if document is None:
                changes.deletes.append((STORE, 0, key))
            else:
                changes.puts.append((STORE, 0, key, orjson.dumps(document)))
                changes.is_announced |= key.startswith(_PARCELS)
        return changes
