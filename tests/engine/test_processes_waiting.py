"""Leases and watches between processes of one data directory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from tests.engine.decisions import append, plain
from tests.engine.processes import CONTEXT, append_when_told, hold_lease, wait_for_append
from tests.engine.reading import SECONDS_MAX, until

LEASE_SECONDS = 1.0


class Worker:
    """Another process, what it is told, and what it answers."""

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        wishes, self.wishes = CONTEXT.Pipe(duplex=False)
        self.answers, answers = CONTEXT.Pipe(duplex=False)
        self.process: BaseProcess = CONTEXT.Process(
            target=target, args=(*arguments, wishes, answers)
        )
        self.process.start()
        wishes.close()
        answers.close()

    def answer(self) -> object:
        return received(self.answers)

    def tell(self, wish: object) -> None:
        self.wishes.send(wish)

    def end(self) -> None:
        self.process.join(SECONDS_MAX)
        assert self.process.exitcode is not None
        self.process.close()
        self.wishes.close()
        self.answers.close()


def received(answers: Connection) -> object:
    assert answers.poll(SECONDS_MAX)
    return answers.recv()


@contextmanager
def directory(path: Path) -> Iterator[None]:
    lock = acquire_directory(path)
    yield
    lock.release()


async def test_a_lease_held_by_another_process_is_had_once_it_is_released(tmp_path: Path) -> None:
    with directory(tmp_path):
        engine = SqliteEngine.open(tmp_path, writes_together=True)
        holder = Worker(hold_lease, tmp_path, False)
        assert holder.answer() is True
        assert await engine.lease("work", LEASE_SECONDS) is None
        assert await engine.lease("other work", LEASE_SECONDS) is not None
        holder.tell("release")
        assert holder.answer() is False
        lease = await engine.lease("work", LEASE_SECONDS)
        assert lease is not None
        # The process that let go goes on, and cannot take it back.
        second = Worker(hold_lease, tmp_path, False)
        assert second.answer() is False
        for worker in (holder, second):
            worker.tell("go on")
            worker.tell("end")
            worker.end()
        await engine.close()


async def test_a_process_that_closes_its_engine_loses_its_leases(tmp_path: Path) -> None:
    with directory(tmp_path):
        engine = SqliteEngine.open(tmp_path, writes_together=True)
        holder = Worker(hold_lease, tmp_path, True)
        assert holder.answer() is True
        holder.tell("close")
        assert holder.answer() is False
        assert holder.process.is_alive()
        assert await engine.lease("work", LEASE_SECONDS) is not None
        holder.tell("end")
        holder.end()
        await engine.close()


async def test_a_killed_process_loses_its_leases(tmp_path: Path) -> None:
    with directory(tmp_path):
        engine = SqliteEngine.open(tmp_path, writes_together=True)
        holder = Worker(hold_lease, tmp_path, False)
        assert holder.answer() is True
        assert await engine.lease("work", LEASE_SECONDS) is None
        holder.process.kill()
        holder.end()
        assert await engine.lease("work", LEASE_SECONDS) is not None
        await engine.close()


def test_a_lease_file_left_behind_is_no_lease_and_no_foreign_file(tmp_path: Path) -> None:
    (tmp_path / "LEASE.work").touch()

    async def run() -> None:
        engine = SqliteEngine.open(tmp_path)
        assert await engine.lease("work", LEASE_SECONDS) is not None
        await engine.close()

    with directory(tmp_path):
        asyncio.run(run())


async def test_a_watch_ends_when_another_process_appends(tmp_path: Path) -> None:
    with directory(tmp_path):
        engine = SqliteEngine.open(tmp_path, writes_together=True)
        await engine.write(plain(creates=["t", "t.log"]))
        worker = Worker(append_when_told, tmp_path)
        assert worker.answer() == "ready"
        for store in ("t", "t.log"):
            seen = engine.appended("t")
            waiting = asyncio.ensure_future(engine.watch("t", seen, 600))
            await asyncio.sleep(0)
            worker.tell(store)
            await until(waiting.done)
            assert engine.appended("t") != seen
            assert worker.answer() == store
        worker.tell("")
        worker.end()
        await engine.close()


async def test_several_processes_watch_one_space(tmp_path: Path) -> None:
    with directory(tmp_path):
        engine = SqliteEngine.open(tmp_path, writes_together=True)
        await engine.write(plain(creates=["t"]))
        watching = []
        for _ in range(2):
            receiver, sender = CONTEXT.Pipe(duplex=False)
            process = CONTEXT.Process(target=wait_for_append, args=(tmp_path, "t", sender))
            process.start()
            sender.close()
            assert received(receiver) == "waiting"
            watching.append((process, receiver))
        await engine.write(append("t", b""))
        for process, receiver in watching:
            assert received(receiver) is True
            process.join(SECONDS_MAX)
            assert process.exitcode == 0
            process.close()
            receiver.close()
        await engine.close()


@pytest.mark.parametrize("space", ["u", "absent"])
async def test_appends_to_another_space_leave_a_watch_its_time(tmp_path: Path, space: str) -> None:
    with directory(tmp_path):
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(creates=["t", "u"]))
        assert engine._shared.appended("t") == engine._shared.appended(space) == 0
        began = time.monotonic()
        waiting = asyncio.ensure_future(engine.watch(space, 0, 0.1))
        await asyncio.sleep(0)
        await engine.write(append("t", b""))
        assert engine.appended(space) == 0, "these names are to have words of their own"
        await asyncio.wait_for(waiting, SECONDS_MAX)
        assert time.monotonic() - began >= 0.09
        await engine.close()
