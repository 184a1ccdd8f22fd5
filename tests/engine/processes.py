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
from tests.engine.decisions import SHARD, Rows, Write, append, increment, plain
from tests.engine.reading import until

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])

LANES = 4


def append_to_lane(lane: int) -> Write:
    """Add the next row of a lane to two stores, and count it in two places."""
    counter = b"lane%03d" % lane

    def decide(rows: Rows) -> Changes:
        number, total = int(rows[0] or b"0") + 1, int(rows[1] or b"0") + 1
        changes = Changes(number)
        key = b"%03d/%08d" % (lane, number)
        changes.puts.append(("t.rows", SHARD, key, b"x" * (number * 37 % 2000)))
        changes.puts.append(("t.copies", SHARD, key, b""))
        changes.puts.append(("t", SHARD, counter, b"%d" % number))
        changes.puts.append(("t", SHARD, b"total", b"%d" % total))
        changes.appends.append(("t.log", SHARD, b"", key))
        changes.tallies.append(("t.rows", 1, 10))
        return changes

    return Write(decide, [("t", SHARD, counter), ("t", SHARD, b"total")])


def append_until_killed(path: Path, worker: int, quick_seconds: float, answers: Connection) -> None:
    """Append to this worker's lanes for ever, sending (lane, number) for every acknowledgement."""

    async def work(engine: SqliteEngine, lane: int) -> None:
        while True:
            answers.send((lane, await engine.write(append_to_lane(lane))))

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


def announce_together(path: Path, times: int, answers: Connection) -> None:
    """Announce changes; send the counter this process knows after each."""

    async def run() -> list[int]:
        engine = SqliteEngine.open(path, writes_together=True)
        known = []
        for _ in range(times):
            await engine.write(plain(announced=True))
            known.append(engine.counter())
        await engine.close()
        return known

    answers.send(asyncio.run(run()))


def raise_together(path: Path, times: int, answers: Connection) -> None:
    """Raise the version of a space, each time from the one found; send the versions given."""

    async def run() -> list[int]:
        engine = SqliteEngine.open(path, writes_together=True)
        given: list[int] = []
        version = 0
        while len(given) < times:
            fences = [("t", version)]
            try:
                await engine.write(plain(raises=[("t", version + 1)], fences=fences))
                given.append(version + 1)
            except StaleVersionError:
                pass
            version += 1
        await engine.close()
        return given

    answers.send(asyncio.run(run()))


def append_together(path: Path, spaces: list[str], times: int, answers: Connection) -> None:
    """Append to spaces in turn, several rows at once; send how many rows."""

    async def run() -> int:
        engine = SqliteEngine.open(path, writes_together=True)
        for turn in range(times):
            store = spaces[turn % len(spaces)]
            await asyncio.gather(*(engine.write(append(store, b"", b"")) for _ in range(3)))
        await engine.close()
        return times * 6

    answers.send(asyncio.run(run()))


def append_when_told(path: Path, wishes: Connection, answers: Connection) -> None:
    """Append a row to each space whose name is sent, and answer; end with an empty name."""

    async def run() -> None:
        engine = SqliteEngine.open(path, writes_together=True)
        answers.send("ready")
        while space := await asyncio.to_thread(wishes.recv):
            await engine.write(append(space, b""))
            answers.send(space)
        await engine.close()

    asyncio.run(run())


def hold_lease(path: Path, is_to_close: bool, wishes: Connection, answers: Connection) -> None:
    """Take a lease and say whether it was there; close the engine, or let go, when told so."""

    async def run() -> None:
        engine = SqliteEngine.open(path, writes_together=True)
        lease = await engine.lease("work", 1.0)
        answers.send(lease is not None)
        await asyncio.to_thread(wishes.recv)
        if is_to_close:
            await engine.close()
        elif lease is not None:
            await lease.release()
        answers.send(lease is not None and lease.is_held)
        await asyncio.to_thread(wishes.recv)
        await engine.close()

    asyncio.run(run())


def wait_for_append(path: Path, space: str, answers: Connection) -> None:
    """Wait for an append by another process; say when the wait begins and when it ends."""

    async def run() -> None:
        engine = SqliteEngine.open(path, writes_together=True)
        seen = engine.appended(space)
        waiting = asyncio.ensure_future(engine.watch(space, seen, 600))
        await asyncio.sleep(0)
        answers.send("waiting")
        await until(waiting.done)
        answers.send(engine.appended(space) != seen)
        await engine.close()

    asyncio.run(run())


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
