"""How jobs are carried out: to their end, again after a fault, never beyond a cancellation."""

import asyncio
from collections.abc import Awaitable, Callable

from hashrange.clock import VirtualClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.errors import EngineError
from hashrange.model.jobs import CANCELLED, CANCELLING, COMPLETED, FAILED, JobRecord, job_id
from hashrange.services.jobs import Job, JobFailedError, Jobs
from hashrange.storage.jobs import JobStore
from tests.harness.loops import in_loop

ACCOUNT, REGION = "000000000000", "us-east-1"


class Counting:
    """Counts to five, saving each number; `disturb` runs before each."""

    def __init__(self, disturb: Callable[[Job, int], Awaitable[None]]) -> None:
        self.disturb = disturb
        self.counted: list[int] = []
        self.undone = 0

    async def run(self, job: Job) -> str:
        for number in range(job.record.progress.get("next", 0), 5):
            await self.disturb(job, number)
            self.counted.append(number)
            await job.save({"next": number + 1})
            await job.pace.rest()
        return COMPLETED

    async def undo(self, job: Job) -> None:
        self.undone += 1


class World:
    def __init__(self, disturb: Callable[[Job, int], Awaitable[None]]) -> None:
        self.engine = MemoryEngine()
        self.clock = VirtualClock()
        self.store = JobStore(self.engine)
        self.kind = Counting(disturb)
        self.jobs = Jobs(self.engine, self.store, self.clock, lambda: {"count": self.kind})

    async def start(self) -> JobRecord:
        id = job_id(self.clock.now(), "00000001")
        return await self.store.start(
            JobRecord(id, "count", ACCOUNT, REGION, "arn", self.clock.now(), {}), {}
        )

    async def found(self, job: JobRecord) -> JobRecord:
        found = await self.store.find(ACCOUNT, REGION, "count", job.id)
        assert found is not None
        return found


async def leave(job: Job, number: int) -> None:
    """Disturb nothing."""


@in_loop
async def test_a_job_is_carried_out_once() -> None:
    world = World(leave)
    job = await world.start()
    await world.jobs.run_to_end()
    await world.jobs.run_to_end()
    assert world.kind.counted == [0, 1, 2, 3, 4]
    found = await world.found(job)
    assert (found.status, found.ended_at) == (COMPLETED, world.clock.now())


@in_loop
async def test_a_job_goes_on_from_its_progress_after_a_fault() -> None:
    faults = [EngineError("first"), EngineError("second")]

    async def fail_twice(job: Job, number: int) -> None:
        if number == 3 and faults:
            raise faults.pop()

    world = World(fail_twice)
    job = await world.start()
    await world.jobs.run_to_end()
    assert world.kind.counted == [0, 1, 2, 3, 4]
    assert (await world.found(job)).status == COMPLETED


@in_loop
async def test_a_job_that_never_comes_forward_fails_and_is_undone() -> None:
    async def fail(job: Job, number: int) -> None:
        if number == 3:
            raise EngineError("no room")

    world = World(fail)
    job = await world.start()
    await world.jobs.run_to_end()
    found = await world.found(job)
    assert (found.status, found.failure_message) == (FAILED, "no room")
    assert world.kind.undone == 1


@in_loop
async def test_a_failure_is_described_and_undone() -> None:
    async def fail(job: Job, number: int) -> None:
        raise JobFailedError("S3NoSuchBucket", "There is none.")

    world = World(fail)
    job = await world.start()
    await world.jobs.run_to_end()
    found = await world.found(job)
    assert (found.status, found.failure_code) == (FAILED, "S3NoSuchBucket")
    assert world.kind.undone == 1


@in_loop
async def test_an_error_of_the_server_ends_the_job_alone() -> None:
    async def fail(job: Job, number: int) -> None:
        raise ZeroDivisionError

    world = World(fail)
    job = await world.start()
    await world.jobs.run_to_end()
    assert (await world.found(job)).failure_code == "InternalServerError"


@in_loop
async def test_a_cancelled_job_stops_and_is_undone() -> None:
    def cancel(record: JobRecord) -> None:
        record.status = CANCELLING

    async def cancel_at_two(job: Job, number: int) -> None:
        if number == 2:
            await world.store.change(job.record, cancel)

    world = World(cancel_at_two)
    job = await world.start()
    await world.jobs.run_to_end()
    assert world.kind.counted == [0, 1, 2]
    assert world.kind.undone == 1
    assert (await world.found(job)).status == CANCELLED


@in_loop
async def test_another_process_goes_on_where_one_was_stopped() -> None:
    reached = asyncio.Event()
    may_go_on = asyncio.Event()

    async def hang(job: Job, number: int) -> None:
        if number == 3 and not may_go_on.is_set():
            reached.set()
            await asyncio.Event().wait()

    world = World(hang)
    job = await world.start()
    running = asyncio.create_task(world.jobs.run())
    await reached.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    may_go_on.set()
    other = Jobs(world.engine, world.store, world.clock, lambda: {"count": world.kind})
    await other.run_to_end()
    assert world.kind.counted == [0, 1, 2, 3, 4]
    assert (await world.found(job)).status == COMPLETED
