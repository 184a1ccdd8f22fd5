"""Carries out jobs: long work in small pieces that goes on after the process was killed.

A kind of job is a coroutine that takes a job from where its progress says it is to its end. It
keeps its progress now and then; whatever it does after that must be harmless when it is done
again. A job ends in one of three ways: the coroutine returns, it raises `JobFailedError`, or the
job was cancelled. After the latter two the kind undoes what is half done. A job that fails by a
fault of the engine is tried again from its last progress, a bounded number of times.

The process that holds the lease of the background work runs the jobs, a few at a time. A job rests
between its pieces while requests are being answered (see `job_pace`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, final

from hashrange.beat import CALM_SECONDS, Attention, rest
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.errors import EngineError, UnknownOutcomeError
from hashrange.limits import JOB_KEPT_SECONDS, JOBS_AT_A_TIME_MAX
from hashrange.model.jobs import CANCELLED, CANCELLING, COMPLETED, FAILED, JobRecord
from hashrange.services.job_pace import Pace
from hashrange.storage.jobs import JobStore

_LOGGER = logging.getLogger("hashrange.jobs")

_LOOK_SECONDS: Final = 0.1
_ATTEMPTS_MAX: Final = 10
_RETRY_SECONDS: Final = 0.5
_FORGET_SECONDS: Final = 3600.0


@final
class JobFailedError(Exception):
    """A job cannot reach its end; the code and text are for its description."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@final
class JobCancelledError(Exception):
    """A job found that it was cancelled."""


@final
class Job:
    """A job as its kind sees it."""

    __slots__ = ("_store", "clock", "pace", "record")

    def __init__(self, record: JobRecord, store: JobStore, clock: Clock, pace: Pace) -> None:
        self.record = record
        self.clock = clock
        self.pace = pace
        self._store = store

    async def save(self, progress: dict[str, Any]) -> None:
        """Keep how far the job has come; raise JobCancelledError if it was cancelled."""

        def edit(record: JobRecord) -> None:
            record.progress = progress
            record.attempts = 0

        changed = await self._store.change(self.record, edit)
        if changed is None:
            raise JobCancelledError
        self.record = changed
        if changed.status == CANCELLING:
            raise JobCancelledError

    async def end(self, status: str, code: str = "", message: str = "") -> None:
        """End the job."""
        now = self.clock.now()

        def edit(record: JobRecord) -> None:
            record.status = status
            record.ended_at = now
            record.failure_code, record.failure_message = code, message

        self.record = await self._store.change(self.record, edit) or self.record


class Kind(Protocol):
    """A kind of job."""

    async def run(self, job: Job) -> str:
        """Take a job from its progress to its end; return the status it ends with."""

    async def undo(self, job: Job) -> None:
        """Undo what a job that failed or was cancelled left half done; may be repeated."""


@final
class Jobs:
    """All jobs of all kinds; one process runs them."""

    def __init__(
        self,
        engine: Engine,
        store: JobStore,
        clock: Clock,
        make_kinds: Callable[[], Mapping[str, Kind]],
    ) -> None:
        """Make the kinds of jobs when the first job is found: most servers never see one."""
        self._engine = engine
        self._store = store
        self._clock = clock
        self._make_kinds = make_kinds
        self._kinds: Mapping[str, Kind] | None = None
        self._counter = -1
        self._forgot_at = 0.0

    async def run(self) -> None:
        """Carry out jobs as they come, until cancelled."""
        tasks: dict[str, asyncio.Task[None]] = {}
        attention = Attention()
        try:
            while True:
                for id in [id for id, task in tasks.items() if task.done()]:
                    tasks.pop(id).result()
                    self._counter = -1
                await self._start_new(tasks)
                is_attentive = attention.pay(self._engine.counter())
                await rest(_LOOK_SECONDS if tasks or is_attentive else CALM_SECONDS)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _start_new(self, tasks: dict[str, asyncio.Task[None]]) -> None:
        try:
            for record in await self._find(is_patient=True):
                if record.id not in tasks and len(tasks) < JOBS_AT_A_TIME_MAX:
                    tasks[record.id] = asyncio.create_task(self._carry_out(record, Pace()))
            if self._clock.now() - self._forgot_at > _FORGET_SECONDS:
                await self._store.forget(self._clock.now() - JOB_KEPT_SECONDS)
                self._forgot_at = self._clock.now()
        except (EngineError, UnknownOutcomeError):
            self._counter = -1
            _LOGGER.exception("the jobs to do could not be read; they will be tried again")

    async def run_to_end(self) -> None:
        """Carry out every job there is, one after another, without rests."""
        for record in await self._find(is_patient=False):
            await self._carry_out(record, Pace(is_patient=False))
            self._counter = -1

    async def _find(self, *, is_patient: bool) -> list[JobRecord]:
        """Return the jobs to do; costs a comparison while no request started one."""
        counter = self._engine.counter()
        if counter == self._counter:
            return []
        records = await self._store.active()
        self._counter = counter
        if records and self._kinds is None:
            # It loads modules, which takes a tenth of a second.
            made = asyncio.to_thread(self._make_kinds) if is_patient else None
            self._kinds = self._make_kinds() if made is None else await made
        return [record for record in records if record.kind in (self._kinds or ())]

    async def _carry_out(self, record: JobRecord, pace: Pace) -> None:
        """Run a job until it has ended, whatever happens."""
        assert self._kinds is not None  # since the job was found
        kind = self._kinds[record.kind]
        job = Job(record, self._store, self._clock, pace)
        _LOGGER.info("job %s begins", record.arn)
        failures = 0
        while job.record.is_active and (pace.is_patient or failures < _ATTEMPTS_MAX):
            try:
                if job.record.status == CANCELLING:
                    await kind.undo(job)
                    await job.end(CANCELLED)
                else:
                    await self._attempt(kind, job)
            except (EngineError, UnknownOutcomeError) as error:
                _LOGGER.warning("job %s will be tried again: %s", record.arn, error)
                failures += 1
                if pace.is_patient:
                    await asyncio.sleep(_RETRY_SECONDS)
        _LOGGER.info("job %s ended %s", record.arn, job.record.status)

    async def _attempt(self, kind: Kind, job: Job) -> None:
        """Take a job forward once."""
        try:
            status = await kind.run(job)
        except JobCancelledError:
            job.record = await self._store.change(job.record, _nothing) or job.record
            return
        except JobFailedError as failure:
            await kind.undo(job)
            await job.end(FAILED, failure.code, failure.message)
            return
        except (EngineError, UnknownOutcomeError, OSError) as error:
            await self._note_failure(kind, job, error)
            return
        except Exception:
            _LOGGER.exception("job %s met an error of the server", job.record.arn)
            await kind.undo(job)
            await job.end(FAILED, "InternalServerError", "Internal server error")
            return
        await job.end(status or COMPLETED, *_failure_of(job.record))

    async def _note_failure(self, kind: Kind, job: Job, error: Exception) -> None:
        """Count an attempt in vain, and give up after too many without progress."""

        def edit(record: JobRecord) -> None:
            record.attempts += 1

        _LOGGER.warning("job %s stopped: %s", job.record.arn, error)
        job.record = await self._store.change(job.record, edit) or job.record
        if job.record.attempts >= _ATTEMPTS_MAX:
            await kind.undo(job)
            await job.end(FAILED, "InternalServerError", str(error))
        elif job.pace.is_patient:
            await asyncio.sleep(_RETRY_SECONDS * job.record.attempts)


def _nothing(record: JobRecord) -> None:
    """Change nothing, to read the record as it is."""


def _failure_of(record: JobRecord) -> tuple[str, str]:
    """Return the code and text of a job that ends with something to report."""
    failure = record.progress.get("failure")
    return ("", "") if failure is None else (failure[0], failure[1])
