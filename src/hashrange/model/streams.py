"""Catalog records of streams and their shards, and the rules by which shards change. Pure.

A stream's shards cover the placements (hashes of partition keys) of its table. A shard takes the
changes of its range until it is closed, by rolling it over to a child of the same range, by
splitting it into two children, or with the whole stream; so the changes of one item lie in one line
of shards, each the child of the one before. Closed shards and disabled streams are remembered for
as long as their records are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

import orjson

from hashrange.errors import CorruptionError
from hashrange.limits import STREAM_RETENTION_SECONDS
from hashrange.quick_zlib import crc32

FORMAT: Final = 2
SHARD_BYTES: Final = 4
PLACEMENT_COUNT: Final = 1 << 32


@dataclass(slots=True)
class ShardRecord:
    """A shard: the placements from `first` up to, not including, `upper`."""

    number: int  # names its rows in the stream's store; a child's is greater than its parent's
    id: str
    first: int
    upper: int
    opened_at: float
    parent: str | None = None
    closed_at: float | None = None

    def is_kept(self, now: float) -> bool:
        """Tell whether some of its records may still be within the retention time."""
        return self.closed_at is None or now < self.closed_at + STREAM_RETENTION_SECONDS


@dataclass(slots=True)
class StreamRecord:
    """A stream of a table, which may have been disabled or deleted with its table since."""

    account: str
    region: str
    table: str
    label: str
    view_type: str
    store: str  # in the space of its table
    store_shards: int
    key_schema: list[dict[str, str]]
    created_at: float
    settled_at: float  # when its last change of state is complete
    disabled_at: float | None = None
    shards_made: int = 0
    shards: list[ShardRecord] = field(default_factory=list)

    @property
    def arn(self) -> str:
        table = f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table}"
        return f"{table}/stream/{self.label}"

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None

    def status(self, now: float) -> str:
        """Return its StreamStatus."""
        if self.is_enabled:
            return "ENABLING" if now < self.settled_at else "ENABLED"
        return "DISABLING" if now < self.settled_at else "DISABLED"

    def is_kept(self, now: float) -> bool:
        """Tell whether the stream can still be read."""
        return self.disabled_at is None or now < self.disabled_at + STREAM_RETENTION_SECONDS

    def open_shards(self) -> list[ShardRecord]:
        """Return the shards that take changes, in the order of their placements."""
        found = [shard for shard in self.shards if shard.closed_at is None]
        return sorted(found, key=lambda shard: shard.first)

    @property
    def space(self) -> str:
        """The space of its table."""
        return self.store.partition(".")[0]

    def store_shard(self, shard: ShardRecord) -> int:
        """Return which shard of the store holds a shard's rows; no shard spans two of them."""
        return shard.first * self.store_shards // PLACEMENT_COUNT

    def shard(self, id: str) -> ShardRecord | None:
        """Return the shard with an id."""
        for shard in self.shards:
            if shard.id == id:
                return shard
        return None

    def open_first(self, now: float) -> list[ShardRecord]:
        """Open the first shards of a new stream, one for each shard of its table."""
        bounds = [
            -(-shard * PLACEMENT_COUNT // self.store_shards)  # rounded up
            for shard in range(self.store_shards + 1)
        ]
        return [self.open(first, upper, now) for first, upper in pairwise(bounds)]

    def open(
        self, first: int, upper: int, now: float, parent: ShardRecord | None = None
    ) -> ShardRecord:
        """Open a shard."""
        time = int(now * 1000)
        if parent is not None:
            # Ids begin with a time and are read in their order, in which parents come first.
            time = max(time, int(parent.id.split("-")[1]) + 1)
        number = self.shards_made
        self.shards_made += 1
        mark = crc32(f"{self.store}/{number}".encode())
        shard = ShardRecord(
            number=number,
            id=f"shardId-{time:020}-{mark:08x}",
            first=first,
            upper=upper,
            opened_at=now,
            parent=None if parent is None else parent.id,
        )
        self.shards.append(shard)
        return shard

    def replace(self, shard: ShardRecord, parts: int, now: float) -> list[ShardRecord]:
        """Close a shard and open children for equal parts of its range; return the children."""
        shard.closed_at = now
        width = shard.upper - shard.first
        bounds = [shard.first + width * part // parts for part in range(parts + 1)]
        return [
            self.open(bounds[part], bounds[part + 1], now, parent=shard) for part in range(parts)
        ]

    def disable(self, now: float, settled_at: float) -> list[ShardRecord]:
        """Disable the stream; return the shards that are closed by that."""
        closed = self.open_shards()
        for shard in closed:
            shard.closed_at = now
        self.disabled_at = now
        self.settled_at = settled_at
        return closed

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "stream": self})


def change_prefix(shard: int) -> bytes:
    """Return the key prefix of a shard's changes in the stream's store."""
    return b"r" + shard.to_bytes(SHARD_BYTES, "big")


def stream_label(time: float) -> str:
    """Return the label of a stream made at a time: ISO 8601 with milliseconds."""
    moment = datetime.fromtimestamp(int(time * 1000) / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}"


def unpack_stream(row: bytes) -> StreamRecord:
    """Return the stream of a row."""
    try:
        document = orjson.loads(row)
        if document["format"] != FORMAT:
            raise CorruptionError(f"stream record of format {document['format']!r}")
        return stream_record(document["stream"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CorruptionError(f"row is not a stream record: {row[:80]!r}") from error


def stream_record(members: dict[str, Any]) -> StreamRecord:
    """Return the stream that a record holds as plain values."""
    shards = [ShardRecord(**shard) for shard in members.pop("shards")]
    return StreamRecord(shards=shards, **members)
