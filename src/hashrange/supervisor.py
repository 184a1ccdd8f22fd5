"""Serves with one process, or with several worker processes that share a port."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from hashrange.app.application import Application, certificates_of
from hashrange.app.engines import reserve_data, wait_for_last_server
from hashrange.app.keys import ServerKeys
from hashrange.app.stages import make_identities, make_stages
from hashrange.clock import SystemClock
from hashrange.config import Settings
from hashrange.server_process import bind, raise_file_limit, run_process
from hashrange.shared_totals import SharedTotals
from hashrange.wire.http.listener import SharedListener

Announce = Callable[[str, int], None]
"""Told the host and port once requests are answered."""


def serve(settings: Settings, announce: Announce, on_stop: Callable[[], None]) -> None:
    """Serve until a signal says stop; raises StartError when that cannot begin.

    `on_stop` is called when that signal has come, before anything is stopped.
    """
    raise_file_limit()
    clock = SystemClock()
    keys = ServerKeys(settings)
    identities = make_identities(keys)
    stages = make_stages(settings, clock, identities, keys.keyring)
    certificates = certificates_of(settings)

    totals = SharedTotals(settings.workers) if settings.workers > 1 else None

    def make_application(worker: int) -> Application:
        shared = None if totals is None else totals.of(worker)
        return Application(settings, stages, clock, identities, keys, certificates, shared)

    wait_for_last_server(settings)
    listening = bind(settings.host, settings.port)
    listener = SharedListener(listening, settings.workers)
    host, port = listening.getsockname()[:2]
    with contextlib.closing(listening), reserve_data(settings, keys.given):
        if settings.workers == 1:
            run_process(make_application(0), listener, lambda: announce(host, port), on_stop)
        else:
            from hashrange.worker_processes import Supervisor

            supervisor = Supervisor(settings, make_application, listener)
            supervisor.run(lambda: announce(host, port), on_stop)
