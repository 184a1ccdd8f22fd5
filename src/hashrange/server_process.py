"""One process that serves: its event loop, its signals, its socket, its garbage collector.

Works on every system that Python's sockets work on; what only POSIX has is left out elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Final

from hashrange.app.application import Application
from hashrange.app.engines import StartError
from hashrange.wire.http.listener import SharedListener

if sys.platform != "win32":
    # Here, and not where it is used, so that it is loaded once for all workers.
    import uvloop

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
# How long the event loop may keep the interpreter from the thread that commits. With the usual 5 ms
# a finished commit waits until the loop has nothing left to do: 6 to 10 % fewer puts.
_SWITCH_SECONDS: Final = 0.00003
# New containers before a collection, and collections before an older generation is looked at.
_COLLECTOR_THRESHOLDS: Final = (50_000, 10, 10)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return the fastest event loop that can watch the listening socket."""
    if sys.platform == "win32":
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def run_process(
    application: Application,
    listener: SharedListener,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None],
    parent: int | None = None,
    on_running: Callable[[asyncio.AbstractEventLoop], None] | None = None,
) -> None:
    """Serve in this process; `parent` is a pipe that ends when the parent process does."""

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        await application.start(listener)
        if application.administrator is not None:
            _show_administrator(*application.administrator)
        if parent is None:
            _heed_signals(loop, stop)
        else:
            loop.add_signal_handler(signal.SIGTERM, stop.set)
            loop.add_reader(parent, stop.set)
        calm_collector()
        sys.setswitchinterval(_SWITCH_SECONDS)
        if on_running is not None:
            on_running(loop)
        on_ready()
        await stop.wait()
        on_stop()
        if parent is not None:
            loop.remove_reader(parent)
        await application.stop()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())


def _show_administrator(access_key_id: str, secret: str) -> None:
    """Print the keys of a new administrator, which are shown this once and kept nowhere."""
    sys.stdout.write(
        "This server had no users; it made the administrator 'admin'. Its keys, shown only now:\n"
        f"  AWS_ACCESS_KEY_ID={access_key_id}\n"
        f"  AWS_SECRET_ACCESS_KEY={secret}\n"
    )
    sys.stdout.flush()


def _heed_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when a signal says so."""
    for number in STOP_SIGNALS:
        if sys.platform == "win32":
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(_stop_or_quit, stop))
        else:
            loop.add_signal_handler(number, _stop_or_quit, stop)


def _stop_or_quit(stop: asyncio.Event) -> None:
    """Stop gracefully when asked once, at once when asked again."""
    if stop.is_set():
        os._exit(1)
    stop.set()


def calm_collector() -> None:
    """Keep the cycle collector from looking at what stays, and from looking all the time.

    A request is hundreds of small containers and hardly ever a cycle.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    gc.enable()


def bind(host: str, port: int) -> socket.socket:
    """Return a bound socket; refuses a port that any other program listens on."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # A name such as localhost has both kinds of address; clients try the older kind always.
        family, kind, protocol, _, address = min(found, key=lambda entry: entry[0])
        listening = socket.socket(family, kind, protocol)
        # On Windows this option would let two programs listen on one port.
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        raise StartError(_bind_failure(host, port, error)) from error
    return listening


def _bind_failure(host: str, port: int, error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return f"Host {host} is not an address of this machine."
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use by another program; choose one with --port."
    return f"Cannot listen on {host} port {port}: {error.strerror}."


def raise_file_limit() -> None:
    """Allow as many open connections as the system lets us."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
