"""Runs coroutines as processes of a seeded scheduler, which may kill them between any two steps.

Nothing waits for real time: a pause is a number of turns, and the clock moves a little with each
step and sometimes a lot. So a seed always gives the same run.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

import pytest

from hashrange.clock import VirtualClock

STEPS_MAX = 400_000
STEP_SECONDS = 0.0005
JUMP_RATE = 0.0005
JUMP_SECONDS = 6.0


class _Turn:
    """Something to await that lets the scheduler choose who goes on."""

    def __await__(self) -> Any:
        yield


async def pause(seconds: float, result: object = None) -> object:
    """Let some turns pass, in place of asyncio.sleep."""
    for _ in range(1 + min(5, int(seconds * 1000))):
        await _Turn()
    return result


class Scheduler:
    """Steps processes in random order; `killed` are the names of those that were ended midway."""

    def __init__(self, seed: int, clock: VirtualClock) -> None:
        self.random = random.Random(seed)
        self.killed: set[str] = set()
        self._clock = clock
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Scheduler:
        self._patch.setattr(asyncio, "sleep", pause)
        # Names of stores and attempts are random, and decide about shards and their order.
        self._patch.setattr(secrets, "token_bytes", self.random.randbytes)
        self._patch.setattr(os, "urandom", self.random.randbytes)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._patch.undo()

    def run(
        self,
        processes: dict[str, Coroutine[Any, Any, None]],
        *,
        at_once: int = 8,
        kill_rate: float = 0.0,
        mortal: str = "",
    ) -> None:
        """Run processes, some at once; those whose names begin with `mortal` may be killed."""
        try:
            self._run(processes, at_once, kill_rate, mortal)
        finally:
            for process in processes.values():
                process.close()

    def _run(
        self,
        processes: dict[str, Coroutine[Any, Any, None]],
        at_once: int,
        kill_rate: float,
        mortal: str,
    ) -> None:
        waiting = list(processes)
        self.random.shuffle(waiting)
        active: list[str] = []
        for _ in range(STEPS_MAX):
            while waiting and len(active) < at_once:
                active.append(waiting.pop())
            if not active:
                return
            name = self.random.choice(active)
            if name.startswith(mortal) and self.random.random() < kill_rate:
                processes[name].close()
                self.killed.add(name)
                active.remove(name)
            elif not self._step(processes[name]):
                active.remove(name)
        raise AssertionError(f"no end in sight: {active}")

    def _step(self, process: Coroutine[Any, Any, None]) -> bool:
        jump = JUMP_SECONDS if self.random.random() < JUMP_RATE else 0.0
        self._clock.advance(STEP_SECONDS + jump)
        try:
            process.send(None)
        except StopIteration:
            return False
        return True

    def finish(self, process: Coroutine[Any, Any, Any]) -> Any:
        """Run one process alone to its end; return its result."""
        try:
            while True:
                process.send(None)
        except StopIteration as end:
            return end.value
