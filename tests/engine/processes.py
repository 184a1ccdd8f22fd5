"""Processes that work on one data directory, and tell a parent what was acknowledged.

They come from a fork server that has this module loaded, so starting one takes milliseconds.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from hashrange.engine.base import Changes
from hashrange.engine.sqlite.engine import Durability, SqliteEngine
from hashrange.errors import StaleVersionError
from tests.engine.decisions import Rows, Write, increment, plain

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])

LANES = 4


def append(lane: int) -> Write:
    """Add the next row of a lane to two stores, and count it in two places."""
    counter = b"lane%03d" % lane

    def decide(rows: Rows) -> Changes:
        number, total = int(rows[0] or b"0") + 1, int(rows[1] or b"0") + 1
        changes = Changes(number)
        key = b"%03d/%08d" % (lane, number)
        changes.puts.append(("rows", key, b"x" * (number * 37 % 2000)))
        changes.puts.append(("copies", key, b""))
        changes.puts.append(("counts", counter, b"%d" % number))
        changes.puts.append(("counts", b"total", b"%d" % total))
        changes.appends.append(("log", b"", key))
        changes.tallies.append(("rows", 1, 10))
        return changes

    return Write(decide, [("counts", counter), ("counts", b"total")])


def append_until_killed(path: Path, worker: int, quick_seconds: float, answers: Connection) -> None:
    """Append to this worker's lanes for ever, sending (lane, number) for every acknowledgement."""

    async def work(engine: SqliteEngine, lane: int) -> None:
        while True:
            answers.send((lane, await engine.write(append(lane))))

    async def run() -> None:
        engine = SqliteEngine.open(
            path, writes_together=True, checkpoint_bytes=1 << 20, quick_seconds=quick_seconds
        )
        lanes = range(worker * LANES, (worker + 1) * LANES)
        await asyncio.gather(*(work(engine, lane) for lane in lanes))

    asyncio.run(run())


def count_together(
    path: Path, times: int, durability: Durability, writes_together: bool, answers: Connection
) -> None:
    """Increment one counter, several times at once; send the counts this process was told."""

    async def run() -> list[object]:
        engine = SqliteEngine.open(path, durability=durability, writes_together=writes_together)
        told: list[object] = []
        for _ in range(times):
            told.extend(
                await asyncio.gather(*(engine.write(increment("t", b"n")) for _ in range(3)))
            )
        await engine.close()
        return told

    answers.send(asyncio.run(run()))


def step_together(path: Path, times: int, answers: Connection) -> None:
    """Step the epoch, building each decision on the epoch known here; send how many were stale."""

    async def run() -> int:
        engine = SqliteEngine.open(path, writes_together=True)
        stale = done = 0
        while done < times:
            known = engine.epoch()
            try:
                await engine.write(plain(epoch_step=True, epoch=known))
                done += 1
                assert engine.epoch() > known
            except StaleVersionError:
                stale += 1
                assert engine.epoch() > known
        await engine.close()
        return stale

    answers.send(asyncio.run(run()))


def change_stores(path: Path, times: int, answers: Connection) -> None:
    """Make and drop a store again and again."""

    async def run() -> None:
        engine = SqliteEngine.open(path, writes_together=True)
        for _ in range(times):
            await engine.write(plain(creates=["fleeting"]))
            await engine.write(plain(drops=["fleeting"]))
        await engine.close()

    asyncio.run(run())
    answers.send(times)


def close_together(paths: list[Path], barrier: Barrier, answers: Connection) -> None:
    """Write to each directory and close it at the same moment as the other processes do."""

    async def run(path: Path) -> None:
        engine = SqliteEngine.open(path, writes_together=True)
        await engine.write(plain(creates=["t"]))
        await engine.write(increment("t", b"n"))
        barrier.wait()
        await engine.close()

    for path in paths:
        asyncio.run(run(path))
    answers.send(len(paths))
