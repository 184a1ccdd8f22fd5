"""Short ways to read from an engine: strongly, and from shard 0."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Engine, Row
from tests.engine.decisions import SHARD, keys_of

UNBOUNDED = 1 << 40
END_OF_KEYS = b"\xff" * 40
POLL_SECONDS = 0.01
SECONDS_MAX = 20.0


async def read(engine: Engine, store: str, *keys: bytes) -> list[bytes | None]:
    """Return rows of a store, each by itself."""
    return await engine.read(keys_of(store, keys), STRONG)


async def page(
    engine: Engine,
    store: str,
    *,
    lower: bytes = b"",
    upper: bytes = END_OF_KEYS,
    reverse: bool = False,
    rows_max: int = UNBOUNDED,
    bytes_max: int = UNBOUNDED,
) -> tuple[list[Row], bool]:
    """Return a range of a store, all of it unless told otherwise."""
    return await engine.range(
        store,
        SHARD,
        lower,
        upper,
        reverse=reverse,
        rows_max=rows_max,
        bytes_max=bytes_max,
        consistency=STRONG,
    )


async def rows_of(engine: Engine, store: str = "t") -> list[Row]:
    """Return all rows of a store."""
    rows, ended = await page(engine, store)
    assert ended
    return rows


async def tally(engine: Engine, name: str) -> tuple[int, int]:
    """Return the tally that the space of a store keeps for it."""
    return await engine.tally(name.partition(".")[0], engine.capabilities.shards, name)


async def numbers_of(engine: Engine, store: str) -> list[int]:
    """Return the numbers of the rows that were appended to a store, in the order of the keys."""
    return [int.from_bytes(key[-SEQUENCE_BYTES:], "big") for key, _ in await rows_of(engine, store)]


async def until(is_reached: Callable[[], bool]) -> None:
    """Wait until something is the case, for a bounded time."""
    deadline = time.monotonic() + SECONDS_MAX
    while not is_reached():
        assert time.monotonic() < deadline, "it took too long"
        await asyncio.sleep(POLL_SECONDS)
