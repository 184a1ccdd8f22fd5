"""Runs all workloads against servers while faults happen, and checks every history.

`Faults` are what can be done to the servers, each with its undoing; the order is drawn from a
seed. At the end the faults stop, and the checks read the final state.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from tests.consistency.workloads import Caller, Workload, create_table

Fault = Callable[[random.Random], str]
"""Does something bad, undoes it, and returns a line about it."""


@dataclass(frozen=True)
class Plan:
    """How long clients work, how many there are, and the pauses between faults.

    With `steps`, each client makes so many, however long they take, and there are no faults.
    """

    seed: int
    seconds: float = 0.0
    steps: int = 0
    clients: int = 4
    pause_seconds: tuple[float, float] = (0.2, 1.5)


class Campaign:
    """One run: workloads, clients, faults, checks."""

    def __init__(
        self,
        connect: Callable[[random.Random], Caller],
        workloads: Sequence[Workload],
        faults: Sequence[Fault],
        plan: Plan,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._connect = connect
        self._workloads = workloads
        self._faults = faults
        self._plan = plan
        self._report = report
        self._failures: list[BaseException] = []
        self.faults_done = 0
        # Reads the end, when it is not one of the clients that does.
        self.last_caller: Caller | None = None

    def run(self) -> dict[str, list[str]]:
        """Run clients and faults, then return what each checker found."""
        with closing(self._connect(random.Random(self._plan.seed))) as caller:
            create_table(caller)
            for workload in self._workloads:
                workload.prepare(caller)
        stop = threading.Event()
        threads = [
            threading.Thread(target=self._work, args=(workload, number, stop))
            for workload in self._workloads
            for number in range(self._plan.clients)
        ]
        for thread in threads:
            thread.start()
        try:
            self._hurt()
        finally:
            if not self._plan.steps:
                stop.set()
            for thread in threads:
                thread.join()
        if self._failures:
            raise self._failures[0]
        last = self.last_caller or self._connect(random.Random(self._plan.seed))
        with closing(last):
            return {workload.name: workload.check(last) for workload in self._workloads}

    def _work(self, workload: Workload, number: int, stop: threading.Event) -> None:
        rng = random.Random(f"{self._plan.seed}/{workload.name}/{number}")
        caller = self._connect(rng)
        try:
            for _ in range(self._plan.steps) if self._plan.steps else itertools.count():
                if stop.is_set():
                    break
                try:
                    workload.step(number, caller, rng)
                except ConnectionError:
                    time.sleep(0.02)  # the server is away; the next step finds out
        except BaseException as error:  # noqa: BLE001 - the run fails with it
            self._failures.append(error)
        finally:
            caller.close()

    def _hurt(self) -> None:
        rng = random.Random(f"{self._plan.seed}/faults")
        end = time.monotonic() + self._plan.seconds
        while time.monotonic() < end and not self._failures:
            time.sleep(rng.uniform(*self._plan.pause_seconds))
            self._report(rng.choice(self._faults)(rng))
            self.faults_done += 1
