"""A real server for a test: on a free port of this machine, in a thread, in memory."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

from hashrange.app.application import Application
from hashrange.app.keys import ServerKeys
from hashrange.app.stages import make_identities, make_stages
from hashrange.clock import VirtualClock
from hashrange.config import Settings
from hashrange.injection.rules import FaultRule
from hashrange.storage.meters import Mode
from hashrange.testing.clients import DUMMY_KEY, own_session
from hashrange.testing.faults import Faults
from hashrange.wire.http.listener import SharedListener

_REGION: Final = "us-east-1"
_WAIT_SECONDS: Final = 30.0


@final
class LocalServer:
    """Where a server listens, its clock, and clients of it."""

    def __init__(self, endpoint_url: str, clock: VirtualClock, faults: Faults) -> None:
        self.endpoint_url = endpoint_url
        self.clock = clock
        # What requests meet, on a server that was made with `faults=True`.
        self.faults = faults

    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """Return a boto3 client of this server; options as of `boto3.client`."""
        return own_session().client(service, **self._options(options))

    def resource(self, **options: Any) -> Any:
        """Return a boto3 service resource of this server; options as of `boto3.resource`."""
        return own_session().resource("dynamodb", **self._options(options))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        fixed = {
            "endpoint_url": self.endpoint_url,
            "region_name": _REGION,
            "aws_access_key_id": DUMMY_KEY,
            "aws_secret_access_key": DUMMY_KEY,
        }
        return {**fixed, **options}


@contextmanager
def serve(capacity: Mode = "off", *, faults: bool = False) -> Iterator[LocalServer]:
    """Run a server for as long as the context lasts; `capacity` is what throttles requests.

    With `faults`, the server's `faults` can have requests fail.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        server = _ThreadedServer(listening, capacity, has_faults=faults)
        server.start()
        try:
            address = f"http://{host}:{port}"
            yield LocalServer(address, server.clock, Faults(server.replace_faults))
        finally:
            server.stop()


@final
class _ThreadedServer:
    """A server on an event loop in a thread of its own."""

    def __init__(self, listening: socket.socket, capacity: Mode, *, has_faults: bool) -> None:
        settings = Settings(
            in_memory=True,
            stop_timeout=1,
            allow_functions=True,
            capacity=capacity,
            faults=has_faults,
        )
        self.clock = VirtualClock(time.time(), self._do_due_work)
        self._listening = listening
        keys = ServerKeys(settings)
        identities = make_identities(keys)
        stages = make_stages(settings, self.clock, identities, keys.keyring)
        self._application = Application(settings, stages, self.clock, identities, keys)
        self._loop = asyncio.SelectorEventLoop()  # on Windows not the default
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="hashrange-server", daemon=True
        )

    def start(self) -> None:
        """Return when requests are answered."""
        self._thread.start()
        self._wait_for(self._application.start(SharedListener(self._listening)))

    def replace_faults(self, rules: Sequence[FaultRule], seed: int) -> None:
        """Replace the faults that requests meet."""
        injection = self._application.faults
        if injection is None:
            raise RuntimeError("this server was made without faults: serve(faults=True)")
        self._wait_for(injection.store.replace(rules, seed))

    def stop(self) -> None:
        """Finish what is in flight and end the thread."""
        self._wait_for(self._application.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_WAIT_SECONDS)
        self._loop.close()

    def _do_due_work(self) -> None:
        """Let what is due since the clock was moved be done before the test goes on."""
        if self._thread.is_alive():
            self._wait_for(self._application.do_due_work())

    def _wait_for(self, call: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(call, self._loop).result(_WAIT_SECONDS)
