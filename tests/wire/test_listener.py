"""Connections are shared out among the processes that wait on one socket."""

from __future__ import annotations

import asyncio
import copy
import errno
import socket
from collections.abc import Iterator

import pytest
import uvloop

from hashrange.wire.http import listener
from hashrange.wire.http.listener import Acceptor, SharedListener

WAIT_SECONDS_MAX = 10.0


class Process:
    """One of several that share an listener, as far as taking connections goes."""

    def __init__(self, shared: SharedListener, index: int) -> None:
        # What a fork would copy; the counts stay common.
        self.listener = copy.copy(shared)
        self.listener.listening = shared.listening.dup()
        self.listener.enter(index)
        self.taken: list[socket.socket] = []
        self.acceptor = Acceptor(asyncio.get_running_loop(), self.listener, self.taken.append)

    def leave(self) -> None:
        leaving = self.taken.copy()
        self.taken.clear()
        for accepted in leaving:
            accepted.close()
            self.acceptor.note_departure()

    def stop(self) -> None:
        self.acceptor.stop()
        self.leave()


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


async def until_taken(count: int, *processes: Process) -> None:
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while sum(len(process.taken) for process in processes) < count:
            await asyncio.sleep(0.001)


def test_connections_are_spread_evenly(listening: socket.socket) -> None:
    async def scenario() -> None:
        shared = SharedListener(listening, 3)
        processes = [Process(shared, index) for index in range(3)]
        for process in processes:
            process.acceptor.start()
        clients = [socket.create_connection(listening.getsockname()) for _ in range(30)]
        await until_taken(30, *processes)
        assert all(8 <= len(process.taken) <= 12 for process in processes)
        # The next ones go where some were closed.
        processes[1].leave()
        clients += [socket.create_connection(listening.getsockname()) for _ in range(8)]
        await until_taken(28, *processes)
        assert len(processes[1].taken) >= 6
        for process in processes:
            process.stop()
        for client in clients:
            client.close()

    uvloop.run(scenario())


@pytest.mark.parametrize("reason", ["own connections are closed", "another has come"])
def test_a_process_that_stepped_back_returns_when_it_has_no_more_than_others(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(listener, "_LOOKS_MAX", 1_000_000)
        shared = SharedListener(listening, 2)
        other, own = Process(shared, 0), Process(shared, 1)
        own.acceptor.start()
        clients = [socket.create_connection(listening.getsockname()) for _ in range(2)]
        await until_taken(1, own)
        await asyncio.sleep(0.05)
        assert len(own.taken) == 1
        if reason == "another has come":
            other.listener.count(+1)
            await until_taken(2, own)
        else:
            own.leave()
            await until_taken(1, own)
        own.stop()
        other.listener.listening.close()
        for client in clients:
            client.close()

    uvloop.run(scenario())


def test_many_are_taken_in_few_turns_of_the_loop(listening: socket.socket) -> None:
    async def scenario() -> None:
        listening.listen(100)
        clients = [socket.create_connection(listening.getsockname()) for _ in range(50)]
        process = Process(SharedListener(listening), 0)
        process.acceptor.start()
        turns = 0
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while len(process.taken) < 50:
                await asyncio.sleep(0)
                turns += 1
        assert turns < 25
        process.stop()
        for client in clients:
            client.close()

    uvloop.run(scenario())


def test_a_process_does_not_wait_for_one_that_takes_nothing(listening: socket.socket) -> None:
    async def scenario() -> None:
        shared = SharedListener(listening, 2)
        idle, busy = Process(shared, 0), Process(shared, 1)
        busy.acceptor.start()
        clients = [socket.create_connection(listening.getsockname()) for _ in range(20)]
        await until_taken(20, busy)
        assert idle.taken == []
        busy.stop()
        idle.listener.listening.close()
        for client in clients:
            client.close()

    uvloop.run(scenario())


def test_a_process_rests_when_it_has_no_descriptors_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        class Refusing(socket.socket):
            refusals = 0

            def accept(self) -> tuple[socket.socket, object]:
                if self.refusals < 2:
                    self.refusals += 1
                    raise OSError(errno.EMFILE, "Too many open files")
                return super().accept()

        monkeypatch.setattr(listener, "_REST_SECONDS", 0.01)
        with Refusing() as listening:
            listening.bind(("127.0.0.1", 0))
            shared = SharedListener(listening)
            taken: list[socket.socket] = []
            acceptor = Acceptor(asyncio.get_running_loop(), shared, taken.append)
            acceptor.start()
            with socket.create_connection(listening.getsockname()):
                async with asyncio.timeout(WAIT_SECONDS_MAX):
                    while not taken:
                        await asyncio.sleep(0.001)
            assert listening.refusals == 2
            acceptor.stop()
            taken[0].close()

    uvloop.run(scenario())
