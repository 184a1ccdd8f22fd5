"""The loop of background services: leases, steps and failures."""

import asyncio
import contextlib
from typing import Any

import pytest

from hashrange import beat
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.errors import EngineError
from hashrange.services import background
from hashrange.services.background import Background, Service

WAIT_SECONDS_MAX = 10.0


class Step:
    """A step that does what a test wants, and counts."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.count = 0
        self.is_over = asyncio.Event()

    async def __call__(self):
        self.count += 1
        outcome: Any = self.outcomes.pop(0) if self.outcomes else 0
        if not self.outcomes:
            self.is_over.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def run_until(event, *, services, engine: Any = None, runs=()):
    """Run background work until an event is set."""
    work = Background(engine or MemoryEngine(), services, runs)
    task = asyncio.create_task(work.run())
    try:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await event.wait()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_service_goes_on_at_once_while_there_is_work():
    async def scenario():
        step = Step(5, 5, 0)
        await run_until(step.is_over, services=[Service("work", step, idle_seconds=3600)])
        assert step.count == 3

    asyncio.run(scenario())


def test_a_failed_step_is_logged_and_tried_again(caplog, monkeypatch):
    monkeypatch.setattr(background, "_RETRY_SECONDS", 0.0)

    async def scenario():
        step = Step(EngineError("disk"), 0)
        await run_until(step.is_over, services=[Service("work", step, idle_seconds=3600)])
        assert step.count == 2

    asyncio.run(scenario())
    assert "work failed; it will be tried again" in caplog.text


def test_a_step_that_never_ends_is_given_up_and_tried_again(caplog, monkeypatch):
    monkeypatch.setattr(background, "_STEP_SECONDS_MAX", 0.01)
    monkeypatch.setattr(background, "_RETRY_SECONDS", 0.0)

    async def scenario():
        calls = []
        again = asyncio.Event()

        async def hang():
            calls.append(1)
            if len(calls) > 1:
                again.set()
            await asyncio.Event().wait()

        await run_until(again, services=[Service("work", hang, idle_seconds=3600)])

    asyncio.run(scenario())
    assert "work failed; it will be tried again" in caplog.text


def test_work_that_does_not_end_does_not_keep_the_lease(caplog, monkeypatch):
    monkeypatch.setattr(background, "_END_SECONDS_MAX", 0.01)

    async def scenario():
        engine = MemoryEngine()
        is_begun, goes_on = asyncio.Event(), asyncio.Event()

        async def stubborn():
            while not goes_on.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    is_begun.set()
                    await goes_on.wait()

        services = [Service("work", Step(0), idle_seconds=3600)]
        await run_until(is_begun, engine=engine, services=services, runs=[stubborn])
        assert await engine.lease("background", 10.0) is not None
        goes_on.set()

    asyncio.run(scenario())
    assert "background work does not end" in caplog.text


def test_one_service_does_not_keep_another_from_its_work():
    async def scenario():
        busy, other = Step(*[1] * 50), Step(1, 0)
        services = [
            Service("busy", busy, idle_seconds=3600),
            Service("other", other, idle_seconds=3600),
        ]
        await run_until(other.is_over, services=services)
        assert busy.count <= 3

    asyncio.run(scenario())


def test_only_the_holder_of_the_lease_works():
    async def scenario():
        engine = MemoryEngine()
        first, second = Step(0), Step(0)
        holder = Background(engine, [Service("first", first, idle_seconds=3600)], [])
        task = asyncio.create_task(holder.run())
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await first.is_over.wait()
        waiting = Background(engine, [Service("second", second, idle_seconds=0)], [])
        other = asyncio.create_task(waiting.run())
        for _ in range(100):
            await asyncio.sleep(0)
        assert second.count == 0
        for each in (task, other):
            each.cancel()
        await asyncio.gather(task, other, return_exceptions=True)
        await run_until(
            second.is_over, engine=engine, services=[Service("second", second, idle_seconds=3600)]
        )

    asyncio.run(scenario())


@pytest.mark.parametrize("is_failing", [True, False])
def test_a_lease_that_cannot_be_taken_is_asked_for_again(is_failing, monkeypatch):
    monkeypatch.setattr(background, "_LEASE_PAUSE_SECONDS", 0.0)

    class Reluctant:
        """An engine that does not give its lease at once."""

        engine = MemoryEngine()
        refusals = 2

        def counter(self):
            return self.engine.counter()

        async def lease(self, name, seconds):
            if self.refusals:
                self.refusals -= 1
                if is_failing:
                    raise EngineError("disk")
                return None
            return await self.engine.lease(name, seconds)

    async def scenario():
        step = Step(0)
        await run_until(
            step.is_over,
            engine=Reluctant(),
            services=[Service("work", step, idle_seconds=3600)],
        )

    asyncio.run(scenario())


def test_work_with_tasks_of_its_own_is_logged_when_it_fails_and_started_again(caplog):
    async def scenario():
        starts, is_again = [], asyncio.Event()

        async def run():
            starts.append(1)
            if len(starts) == 1:
                raise ValueError("broken")
            is_again.set()
            await asyncio.Event().wait()

        services = [Service("work", Step(), idle_seconds=0.001)]
        await run_until(is_again, services=services, runs=[run])
        assert len(starts) == 2

    asyncio.run(scenario())
    assert "background work ended" in caplog.text


@pytest.mark.parametrize(("changes", "calm_steps"), [(False, 1), (True, 4)])
def test_a_service_rests_longer_when_the_catalog_stays_as_it_is(monkeypatch, changes, calm_steps):
    monkeypatch.setattr(beat, "_ATTENTIVE_SECONDS", 0.0 if not changes else 3600.0)

    async def scenario():
        calm, other = Step(), Step(*[0] * 4)
        services = [
            Service("calm", calm, idle_seconds=0.0, calm_seconds=3600.0),
            Service("other", other, idle_seconds=0.0),
        ]
        await run_until(other.is_over, services=services)
        assert calm.count == calm_steps

    asyncio.run(scenario())
