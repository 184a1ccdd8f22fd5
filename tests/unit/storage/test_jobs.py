"""The store of jobs: tokens, pages, changes by several at once, and what is forgotten."""

import asyncio
from typing import Any

import pytest

from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.limits import JOB_TOKEN_SECONDS
from hashrange.model.jobs import CANCELLING, COMPLETED, JobRecord, job_id
from hashrange.storage.jobs import JobStore, TokenReuseError
from tests.harness.engines import faulty_engine
from tests.harness.loops import in_loop

ACCOUNT, REGION = "000000000000", "us-east-1"


@pytest.fixture(params=["memory", "cluster"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return MemoryEngine() if request.param == "memory" else faulty_engine(seed=3)


def job(number: int, at: float = 1000.0, **members: Any) -> JobRecord:
    id = job_id(at, f"{number:08x}")
    return JobRecord(id, "export", ACCOUNT, REGION, f"arn/{id}", at, {"n": number}, **members)


def end(record: JobRecord) -> None:
    record.status, record.ended_at = COMPLETED, 2000.0


@in_loop
async def test_a_token_used_again_names_the_first_job(engine: Engine) -> None:
    store = JobStore(engine)
    first = await store.start(job(1, token="t"), {"Table": "a"})
    again = await store.start(job(2, token="t"), {"Table": "a"})
    assert again.id == first.id
    assert [record.id for record in await store.active()] == [first.id]


@in_loop
async def test_a_token_used_for_another_request_is_refused(engine: Engine) -> None:
    store = JobStore(engine)
    await store.start(job(1, token="t"), {"Table": "a"})
    with pytest.raises(TokenReuseError):
        await store.start(job(2, token="t"), {"Table": "b"})


@in_loop
async def test_a_token_is_forgotten_after_eight_hours(engine: Engine) -> None:
    store = JobStore(engine)
    await store.start(job(1, token="t"), {"Table": "a"})
    later = await store.start(job(2, 1001.0 + JOB_TOKEN_SECONDS, token="t"), {"Table": "b"})
    assert later.request == {"n": 2}


@in_loop
async def test_pages_go_from_the_newest_to_the_oldest(engine: Engine) -> None:
    store = JobStore(engine)
    for number in range(5):
        await store.start(job(number, 1000.0 + number), {})
    seen: list[int] = []
    before = None
    while True:
        page, more = await store.page(ACCOUNT, REGION, "export", before=before, jobs_max=2)
        seen += [record.request["n"] for record in page]
        if not more:
            break
        before = page[-1].id
    assert seen == [4, 3, 2, 1, 0]
    assert await store.page(ACCOUNT, "eu-west-1", "export", before=None, jobs_max=2) == ([], False)


@in_loop
async def test_progress_does_not_overwrite_a_cancellation(engine: Engine) -> None:
    store = JobStore(engine)
    record = await store.start(job(1), {})

    def cancel(found: JobRecord) -> None:
        found.status = CANCELLING

    def progress(found: JobRecord) -> None:
        found.progress = {"items": 7}

    await asyncio.gather(store.change(record, cancel), store.change(record, progress))
    found = await store.find(ACCOUNT, REGION, "export", record.id)
    assert found is not None
    assert (found.status, found.progress) == (CANCELLING, {"items": 7})


@in_loop
async def test_a_job_that_has_ended_never_changes_again(engine: Engine) -> None:
    store = JobStore(engine)
    record = await store.start(job(1), {})
    await store.change(record, end)
    assert await store.active() == []

    def cancel(found: JobRecord) -> None:
        found.status = CANCELLING

    after = await store.change(record, cancel)
    assert after is not None
    assert after.status == COMPLETED


@in_loop
async def test_old_jobs_and_their_tokens_are_forgotten(engine: Engine) -> None:
    store = JobStore(engine)
    old = await store.start(job(1, token="t"), {"Table": "a"})
    await store.change(old, end)
    running = await store.start(job(2), {})
    await store.forget(2001.0)
    assert await store.find(ACCOUNT, REGION, "export", old.id) is None
    assert await store.find(ACCOUNT, REGION, "export", running.id) is not None
    assert (await store.start(job(3, token="t"), {"Table": "b"})).request == {"n": 3}
