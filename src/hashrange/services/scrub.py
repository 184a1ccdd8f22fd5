"""The scrub: reads all rows again and again, slowly, so that damage is found before it is needed.

The engine holds every row against its checksum as it is read, and logs what is damaged. The scrub
goes through the stores of all tables in the order of the catalog, a small piece at a time.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final, final

from hashrange.engine.base import EVENTUAL, Engine
from hashrange.errors import CorruptionError
from hashrange.model.records import unpack_record
from hashrange.model.streams import unpack_stream
from hashrange.storage.catalog import STORE
from hashrange.storage.layout import END_OF_KEYS

_LOGGER = logging.getLogger("hashrange.scrub")

_PIECE_ROWS: Final = 100
_PIECE_BYTES: Final = 256 << 10
_CATALOG_ROWS: Final = 100
# Greater than every key of any store.
_END: Final = b"\xff" * 8 + END_OF_KEYS * 3


@final
class Scrub:
    """Where the scrub is; one in the process that does the background work."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Stores and shards to be read, then the rows of the catalog that follow them, if any do.
        self._places: deque[tuple[str, int]] = deque()
        self._catalog_position = b""
        self._has_all = False
        self._position = b""

    async def step(self) -> int:
        """Read a piece; return 0 at the end of a round."""
        if not self._places:
            if self._has_all:
                self._has_all = False
                return 0
            await self._find_places()
            return 1
        store, shard = self._places[0]
        try:
            rows, ended = await self._engine.range(
                store,
                shard,
                self._position,
                _END,
                reverse=False,
                rows_max=_PIECE_ROWS,
                bytes_max=_PIECE_BYTES,
                consistency=EVENTUAL,
            )
        except CorruptionError:
            # The engine has logged the row; what follows it is left to `hashrange check`.
            _LOGGER.error("the scrub leaves store %s, since it is damaged", store)
            rows, ended = [], True
        self._position = b"" if ended else rows[-1][0] + b"\x00"
        if ended:
            self._places.popleft()
        return 1

    async def _find_places(self) -> None:
        """Find the stores of the next tables."""
        try:
            rows, ended = await self._engine.range(
                STORE,
                0,
                self._catalog_position,
                _END,
                reverse=False,
                rows_max=_CATALOG_ROWS,
                bytes_max=_PIECE_BYTES,
                consistency=EVENTUAL,
            )
        except CorruptionError:
            self._catalog_position = b""
            raise
        for key, row in rows:
            self._add_places(key[:1], row)
        self._catalog_position = b"" if ended else rows[-1][0] + b"\x00"
        self._has_all = ended

    def _add_places(self, kind: bytes, row: bytes) -> None:
        if kind == b"t":
            record = unpack_record(row)
            shards = {index.store: index.shards for index in record.indexes}
            for store in record.stores():
                count = shards.get(store, record.shards)
                self._places.extend((store, shard) for shard in range(count))
        elif kind == b"s":
            stream = unpack_stream(row)
            self._places.extend((stream.store, shard) for shard in range(stream.store_shards))
