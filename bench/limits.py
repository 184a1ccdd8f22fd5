"""The limits Hashrange is measured against: HTTP that does nothing, SQLite without HTTP.

python -m bench.limits PORT              start the do-nothing responder
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import apsw
import httptools
import uvloop

from bench.servers import Kind
from bench.workloads import order_item

_PAGE_BYTES = 8192


class Responder(asyncio.Protocol):
    """Parses requests as Hashrange does and answers each with the same item."""

    answer: bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpRequestParser(self)
        self._body: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._body.clear()
        self._transport.write(self.answer)


async def respond(port: int) -> None:
    """Answer on a port for ever."""
    body = json.dumps({"Item": order_item(random.Random(1), 0, "0")}).encode()
    head = [
        "HTTP/1.1 200 OK",
        "Content-Type: application/x-amz-json-1.0",
        f"Content-Length: {len(body)}",
        f"x-amzn-RequestId: {'A' * 52}",
    ]
    Responder.answer = ("\r\n".join(head) + "\r\n\r\n").encode() + body
    server = await asyncio.get_running_loop().create_server(Responder, "127.0.0.1", port)
    await server.serve_forever()


RESPONDER = Kind(
    "do-nothing HTTP responder",
    lambda: True,
    lambda: f"uvloop {importlib.metadata.version('uvloop')}",
    lambda port, _directory: [sys.executable, "-m", "bench.limits", str(port)],
    None,
)


def sqlite_puts_per_second(batch: int, seconds: float) -> float:
    """Return how many 1 KB rows SQLite overwrites durably, `batch` in each transaction."""
    rng = random.Random(2)
    rows = [json.dumps(order_item(rng, index, "0")).encode() for index in range(1_000)]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        connection = apsw.Connection(str(Path(folder) / "limit.db"))
        connection.pragma("page_size", _PAGE_BYTES)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.execute("CREATE TABLE items(key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)")
        put = (
            "INSERT INTO items(key, value) VALUES(?, ?) "
            "ON CONFLICT(key) DO UPDATE SET value = excluded.value"
        )
        with connection:
            connection.executemany(put, ((_key(i), rows[i % 1_000]) for i in range(10_000)))
        written, begin = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - begin) < seconds:
            with connection:
                for _ in range(batch):
                    connection.execute(put, (_key(rng.randrange(10_000)), rng.choice(rows)))
            written += batch
        connection.close()
    return written / elapsed


def _key(index: int) -> bytes:
    return (index * 2_654_435_761 % 2**32).to_bytes(4, "big") + b"user#%05d\0order" % index


if __name__ == "__main__":
    uvloop.run(respond(int(sys.argv[1])))
