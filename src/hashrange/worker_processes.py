"""Several worker processes that share a port and a data directory. POSIX only: workers are forked.

The parent serves nothing: it forks the workers, starts a dead one again, kills one that hangs (it
may have the turn to write), hands signals on, and stops all within a deadline. The worker that has
the lease runs the background services too. Workers watch a pipe that only the parent holds open, so
they stop when the parent is killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, final

from hashrange.app.application import Application
from hashrange.app.engines import StartError
from hashrange.config import Settings
from hashrange.heartbeat import LOOK_SECONDS, Heartbeats
from hashrange.server_process import STOP_SIGNALS, calm_collector, run_process
from hashrange.wire.http.listener import SharedListener

_LOGGER = logging.getLogger("hashrange.supervisor")

_WATCHED_SIGNALS: Final = frozenset({signal.SIGCHLD, *STOP_SIGNALS})
_READY_SECONDS_MAX: Final = 30.0
# A worker that dies this soon after its start has not got over what killed it.
_EARLY_DEATH_SECONDS: Final = 1.0
_EARLY_DEATHS_MAX: Final = 5
# Beyond the server's own deadline, for the engine to close.
_KILL_GRACE_SECONDS: Final = 5.0


@final
class _Worker:
    """A child process and when it was started."""

    __slots__ = ("early_deaths", "pid", "started")

    def __init__(self, pid: int, early_deaths: int) -> None:
        self.pid = pid
        self.started = time.monotonic()
        self.early_deaths = early_deaths


@final
class Supervisor:
    """Starts workers and watches over them."""

    def __init__(
        self,
        settings: Settings,
        make_application: Callable[[int], Application],
        listener: SharedListener,
    ) -> None:
        self._settings = settings
        self._make_application = make_application
        self._listener = listener
        self._workers: dict[int, _Worker] = {}
        self._heartbeats = Heartbeats(settings.workers)
        self._ready_read, self._ready_write = os.pipe()
        self._alive_read, self._alive_write = os.pipe()

    def run(self, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        """Run the workers until a signal says stop."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED_SIGNALS)
        calm_collector()
        for index in range(self._settings.workers):
            self._start(index, early_deaths=0)
        try:
            if self._wait_ready():
                on_ready()
                self._watch()
                on_stop()
        finally:
            self._stop_all()

    def _start(self, index: int, early_deaths: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._heartbeats.start(index)
        pid = os.fork()
        if pid == 0:
            self._be_worker(index)
        self._workers[index] = _Worker(pid, early_deaths)

    def _be_worker(self, index: int) -> None:
        status = 1
        try:
            os.close(self._alive_write)
            # The terminal sends its interrupt to everybody; the parent decides what it means.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED_SIGNALS)
            self._listener.enter(index)
            run_process(
                self._make_application(index),
                self._listener,
                on_ready=lambda: _write_byte(self._ready_write),
                on_stop=lambda: None,
                parent=self._alive_read,
                on_running=lambda loop: self._heartbeats.beat(index, loop),
            )
            status = 0
        except StartError as error:
            _LOGGER.error("worker %d cannot start: %s", index, error)
        except BaseException:
            _LOGGER.exception("worker %d failed", index)
        finally:
            logging.shutdown()
            os._exit(status)

    def _wait_ready(self) -> bool:
        """Wait until all workers answer; false when told to stop meanwhile."""
        os.set_blocking(self._ready_read, False)
        deadline = time.monotonic() + _READY_SECONDS_MAX
        missing = self._settings.workers
        while missing > 0:
            with contextlib.suppress(BlockingIOError):
                missing -= len(os.read(self._ready_read, missing))
                continue
            received = signal.sigtimedwait(_WATCHED_SIGNALS, 0.01)
            if received is not None and received.si_signo in STOP_SIGNALS:
                return False
            if any(os.waitpid(worker.pid, os.WNOHANG)[0] for worker in self._workers.values()):
                raise StartError("A worker could not start; its message says why.")
            if time.monotonic() > deadline:
                raise StartError("The workers did not start in time.")
        return True

    def _watch(self) -> None:
        """Start dead workers again until told to stop, and kill those that hang."""
        look_at = time.monotonic() + LOOK_SECONDS
        while True:
            seconds = max(0.0, look_at - time.monotonic())
            received = signal.sigtimedwait(_WATCHED_SIGNALS, seconds)
            if received is None:
                look_at = time.monotonic() + LOOK_SECONDS
                self._kill_hanging()
                continue
            if received.si_signo in STOP_SIGNALS:
                return
            for index, worker in list(self._workers.items()):
                pid, status = os.waitpid(worker.pid, os.WNOHANG)
                if pid:
                    self._restart(index, worker, status)

    def _kill_hanging(self) -> None:
        """Kill workers that hang. A process that was killed cannot wake up and commit."""
        for index, worker in self._workers.items():
            if self._heartbeats.hangs(index):
                _LOGGER.error("worker %d (process %d) hangs; killing it", index, worker.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def _restart(self, index: int, worker: _Worker, status: int) -> None:
        del self._workers[index]
        _LOGGER.warning("worker %d ended (%s); starting it again", index, _describe(status))
        early_deaths = 0
        if time.monotonic() - worker.started < _EARLY_DEATH_SECONDS:
            early_deaths = worker.early_deaths + 1
        if early_deaths > _EARLY_DEATHS_MAX:
            raise StartError(f"Worker {index} dies again and again; see its messages.")
        self._start(index, early_deaths)

    def _stop_all(self) -> None:
        """Stop the workers, at the latest when the deadline has passed."""
        # The workers close theirs, and nobody is kept waiting at a door that no one will open.
        self._listener.listening.close()
        self._signal_all(signal.SIGTERM)
        deadline = time.monotonic() + self._settings.stop_timeout + _KILL_GRACE_SECONDS
        while self._workers:
            self._reap()
            left = deadline - time.monotonic()
            if not self._workers:
                return
            if left <= 0:
                self._signal_all(signal.SIGKILL)
                left = _KILL_GRACE_SECONDS
                deadline = time.monotonic() + left
            received = signal.sigtimedwait(_WATCHED_SIGNALS, min(left, 0.5))
            if received is not None and received.si_signo in STOP_SIGNALS:
                # Asked a second time: do not wait for what is under way.
                self._signal_all(signal.SIGKILL)

    def _reap(self) -> None:
        for index, worker in list(self._workers.items()):
            try:
                ended = os.waitpid(worker.pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                ended = True
            if ended:
                del self._workers[index]

    def _signal_all(self, number: signal.Signals) -> None:
        for worker in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, number)


def _describe(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"


def _write_byte(descriptor: int) -> None:
    # Nobody reads it any more when a worker is started again.
    with contextlib.suppress(OSError):
        os.write(descriptor, b"1")
