"""Start a server process on a free loopback port, wait until it answers, stop it again.

The port is found by binding it first. Another process may take it before ours does; the start then
fails loudly instead of testing the wrong server.
"""

import contextlib
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0


def free_port() -> int:
    """Return a loopback port that nobody listens on.

    It is below those that the kernel hands out, so that a server finds it free again after it was
    killed, whatever else runs beside.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def answers(port: int) -> bool:
    """Tell whether something on this port answers a plain HTTP request."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(5) == b"HTTP/"
    except OSError:
        return False


@contextlib.contextmanager
def running(command: Sequence[str], port: int, cwd: str | None = None) -> Iterator[str]:
    """Run a server command until the block ends; yields its URL."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            deadline = time.monotonic() + START_SECONDS_MAX
            while not answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    text = log.read().decode(errors="replace")
                    raise RuntimeError(f"server did not start: {' '.join(command)}\n{text}")
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def hashrange(*flags: str, module: str = "hashrange") -> Iterator[str]:
    """Run Hashrange in memory with further serve flags; yields its URL."""
    port = free_port()
    command = [sys.executable, "-m", module, "serve", "--in-memory", "--port", str(port)]
    with running([*command, *flags], port) as url:
        yield url
