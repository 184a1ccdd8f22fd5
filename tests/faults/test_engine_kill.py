"""Processes killed at any moment lose nothing that was acknowledged, and leave no half decision."""

from __future__ import annotations

import asyncio
import os
import random
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import apsw
import pytest

from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from tests.engine.decisions import plain
from tests.engine.processes import CONTEXT, append_until_killed
from tests.engine.reading import rows_of, tally

ROUNDS = int(os.environ.get("HASHRANGE_KILL_ROUNDS", "12"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
WORKERS = 2
SECONDS_MAX = 60


def start(path: Path, worker: int, quick_seconds: float) -> tuple[BaseProcess, Connection]:
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(
        target=append_until_killed, args=(path, worker, quick_seconds, sender)
    )
    process.start()
    sender.close()
    return process, receiver


def collect(receiver: Connection, acknowledged: dict[int, int]) -> None:
    """Read everything a killed worker managed to say."""
    try:
        while True:
            lane, number = receiver.recv()
            acknowledged[lane] = max(number, acknowledged.get(lane, 0))
    except (EOFError, OSError):
        receiver.close()


async def check(path: Path, acknowledged: dict[int, int]) -> None:
    engine = SqliteEngine.open(path)

    async def everything(store: str) -> dict[bytes, bytes]:
        return dict(await rows_of(engine, store))

    rows, copies, counts = [await everything(store) for store in ("t.rows", "t.copies", "t")]
    log = await everything("t.log")
    counted = await tally(engine, "t.rows")
    await engine.close()
    total = int(counts.pop(b"total", b"0"))
    lanes = {int(key[4:]): int(count) for key, count in counts.items()}
    for lane, number in acknowledged.items():
        assert lanes[lane] >= number, f"lane {lane} lost acknowledged writes"
    expected = {
        b"%03d/%08d" % (lane, n) for lane, last in lanes.items() for n in range(1, last + 1)
    }
    assert rows.keys() == expected
    assert copies.keys() == expected
    assert total == len(expected)
    assert [int.from_bytes(key, "big") for key in log] == list(range(1, total + 1))
    by_lane = sorted(log.values(), key=lambda row: row[:3])
    assert by_lane == sorted(expected), "a lane's appends are out of order"
    assert counted == (total, 10 * total)
    acknowledged.update(lanes)


async def prepare(path: Path) -> None:
    engine = SqliteEngine.open(path)
    await engine.write(plain(creates=["t", "t.rows", "t.copies", "t.log"]))
    await engine.close()


@pytest.mark.parametrize("quick_seconds", [60.0, 0.0], ids=["on-loop", "in-thread"])
def test_kill_9_loses_no_acknowledged_write(tmp_path: Path, quick_seconds: float) -> None:
    dice = random.Random(SEED)
    acknowledged: dict[int, int] = {}
    lock = acquire_directory(tmp_path)
    asyncio.run(prepare(tmp_path))
    lock.release()
    for _ in range(ROUNDS):
        lock = acquire_directory(tmp_path)
        workers = [start(tmp_path, worker, quick_seconds) for worker in range(WORKERS)]
        for _, receiver in workers:
            # The first answer shows that it is at work; then it lives a random moment longer.
            assert receiver.poll(SECONDS_MAX)
        for process, receiver in workers:
            for _ in range(dice.randrange(60)):
                if not receiver.poll(0.05):
                    break
                lane, number = receiver.recv()
                acknowledged[lane] = max(number, acknowledged.get(lane, 0))
            process.kill()
        for process, receiver in workers:
            collect(receiver, acknowledged)
            process.join(SECONDS_MAX)
            process.close()
        lock.release()
        lock = acquire_directory(tmp_path)
        asyncio.run(check(tmp_path, acknowledged))
        lock.release()
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


@pytest.mark.parametrize("quick_seconds", [60.0, 0.0], ids=["on-loop", "in-thread"])
def test_the_survivor_of_a_killed_worker_goes_on(tmp_path: Path, quick_seconds: float) -> None:
    acknowledged: dict[int, int] = {}
    lock = acquire_directory(tmp_path)
    asyncio.run(prepare(tmp_path))
    survivor, answers = start(tmp_path, 0, quick_seconds)
    for _ in range(3):
        victim, told = start(tmp_path, 1, quick_seconds)
        assert told.poll(SECONDS_MAX)
        victim.kill()
        collect(told, acknowledged)
        victim.join(SECONDS_MAX)
        victim.close()
        for _ in range(10):
            assert answers.poll(SECONDS_MAX)
            lane, number = answers.recv()
            acknowledged[lane] = max(number, acknowledged.get(lane, 0))
    survivor.kill()
    collect(answers, acknowledged)
    survivor.join(SECONDS_MAX)
    survivor.close()
    asyncio.run(check(tmp_path, acknowledged))
    lock.release()
