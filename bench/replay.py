"""The load generator where wrk is not installed or not wanted, with the checks of replay.lua.

    replay.py PORT CONNECTIONS SECONDS FILE PART/PARTS [awake]

Each connection has one request under way. Answers still due when the time is over are awaited.
Prints one line of JSON.

With one connection nothing overlaps, so all the time a client takes looks like the server's; and to
be woken for an answer takes wrk as long as a whole GetItem. A client that is `awake` does not sleep
and checks an answer while the next one is due. For that it keeps a processor to itself, which a
server that needs two may miss.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import select
import socket
import sys
import time
from collections import Counter

_MARK = re.compile(rb"chk\.(\w+)\.(\w+)")
_LINGER_SECONDS = 10.0


class Replay:
    """The requests, and how an answer is checked."""

    def __init__(self, path: str) -> None:
        self.requests: list[tuple[bytes, bytes]] = []
        self.wanted: dict[bytes, tuple[int, int]] = {}
        self.stamps: set[bytes] = set()
        self.waiting: Counter[bytes] = Counter()
        with open(path, "rb") as file:
            while line := file.readline():
                name, marks, bytes_min, length, stamp = line[:-1].split(b" ")
                self.requests.append((name, file.read(int(length))))
                self.wanted[name] = (int(marks), int(bytes_min))
                self.stamps.add(stamp)

    def is_right(self, answer: bytes) -> bool:
        if answer[9:12] != b"200":
            return False
        body = answer[answer.index(b"\r\n\r\n") + 4 :]
        marks = _MARK.findall(body)
        if b"*" not in self.stamps and any(stamp not in self.stamps for _, stamp in marks):
            return False
        name = b"*" if b"*" in self.wanted else (marks[-1][0] if marks else b"")
        count, bytes_min = self.wanted.get(name, (-1, 0))
        if len(marks) != count or len(body) < bytes_min or not self.waiting[name]:
            return False
        self.waiting[name] -= 1
        return True


def whole(data: bytes) -> tuple[bool, bool]:
    """Say whether data is a whole response, and whether the connection stays open."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False, True
    head = data[: end + 2].lower()
    stays = b"\r\nconnection: close\r\n" not in head and not head.startswith(b"http/1.0")
    at = head.find(b"\r\ncontent-length:")
    if at < 0:
        return data.endswith(b"0\r\n\r\n"), stays  # chunked
    return len(data) >= end + 4 + int(head[at + 17 : head.index(b"\r\n", at + 2)]), stays


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class LoneClient:
    """One connection, awake all the time."""

    def __init__(self, replay: Replay, port: int) -> None:
        self._replay = replay
        self._port = port
        self.latencies: list[float] = []
        self.answered = self.wrong = self.broken = 0

    def run(self, seconds: float) -> None:
        replay = self._replay
        connection = connect(self._port)
        answer = b""
        end = time.perf_counter() + seconds
        for name, message in itertools.cycle(replay.requests):
            replay.waiting[name] += 1
            sent_at = time.perf_counter()
            connection.sendall(message)
            if answer:
                self.wrong += not replay.is_right(answer)
            answer, stays = self._receive(connection)
            now = time.perf_counter()
            self.latencies.append(now - sent_at)
            if now > end:
                break
            self.answered += bool(answer)
            if not stays:
                connection.close()
                connection = connect(self._port)

    def _receive(self, connection: socket.socket) -> tuple[bytes, bool]:
        received = b""
        while True:
            try:
                data = connection.recv(1 << 18, socket.MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()  # the server, or its disk, may have to run on this processor
                continue
            except OSError:
                data = b""
            received += data
            complete, stays = whole(received)
            if complete:
                return received, stays
            if not data:
                self.broken += 1
                return b"", False


class Client:
    """Connections that send one request after another until the time is over.

    Of the requests it takes one in so many, the number `parts`, beginning with number `part`.
    """

    def __init__(self, replay: Replay, port: int, part: int, parts: int) -> None:
        self._replay = replay
        self._port = port
        self._position = part - parts
        self._step = parts
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._received: dict[int, bytes] = {}
        self._sent_at: dict[int, float] = {}
        self.latencies: list[float] = []
        self.answered = self.wrong = self.broken = 0

    def run(self, connections: int, seconds: float) -> None:
        end = time.perf_counter() + seconds
        for _ in range(connections):
            self._send(self._connect())
        while self._sent_at and time.perf_counter() < end + _LINGER_SECONDS:
            for descriptor, _ in self._poll.poll(1):
                stays = self._receive(descriptor, end)
                if stays is None:
                    continue
                if not stays:
                    self._poll.unregister(descriptor)
                    self._sockets.pop(descriptor).close()
                if time.perf_counter() < end:
                    self._send(descriptor if stays else self._connect())

    def _connect(self) -> int:
        connection = connect(self._port)
        self._sockets[connection.fileno()] = connection
        self._poll.register(connection, select.EPOLLIN)
        return connection.fileno()

    def _send(self, descriptor: int) -> None:
        self._position = (self._position + self._step) % len(self._replay.requests)
        name, message = self._replay.requests[self._position]
        self._replay.waiting[name] += 1
        self._received[descriptor] = b""
        self._sent_at[descriptor] = time.perf_counter()
        self._sockets[descriptor].sendall(message)

    def _receive(self, descriptor: int, end: float) -> bool | None:
        """Return whether the connection stays open, or None when more of the answer is due."""
        try:
            data = self._sockets[descriptor].recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self.broken += 1
            del self._sent_at[descriptor]
            return False
        data = self._received[descriptor] + data
        complete, stays = whole(data)
        if not complete:
            self._received[descriptor] = data
            return None
        now = time.perf_counter()
        self.latencies.append(now - self._sent_at.pop(descriptor))
        self.answered += now <= end
        self.wrong += not self._replay.is_right(data)
        return stays


def main() -> None:
    port, connections, seconds, path, part, *how = sys.argv[1:]
    replay = Replay(path)
    number, parts = part.split("/")
    client: LoneClient | Client
    if how:
        client = LoneClient(replay, int(port))
        client.run(float(seconds))
    else:
        client = Client(replay, int(port), int(number), int(parts))
        client.run(int(connections), float(seconds))
    latencies = sorted(client.latencies) or [0.0]
    result = {
        "answered": client.answered,
        "wrong": client.wrong,
        "broken": client.broken,
        "p50": int(1e6 * latencies[len(latencies) // 2]),
        "p99": int(1e6 * latencies[len(latencies) * 99 // 100]),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
