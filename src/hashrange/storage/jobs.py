"""The store of jobs, shared by all processes.

job row    := JobRecord as JSON              under "j" world kind 0 id
active row := nothing                        under "a" world kind 0 id, until the job has ended
token row  := id 0 digest of the request     under "k" world kind 0 token
world      := account 0 region 0

A new job is announced, so that the process that does the background work notices it. A change reads
the record inside its decision: a cancellation and the progress of a job never overwrite each other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.errors import EngineError
from hashrange.limits import JOB_TOKEN_SECONDS
from hashrange.model.jobs import JobRecord, job_id, unpack_job
from hashrange.model.keys import successor
from hashrange.storage.settled_writes import write_surely

STORE: Final = "jobs"

_PAGE_ROWS: Final = 200
_PAGE_BYTES: Final = 4 << 20
_SUFFIX_BYTES: Final = 4

Editor = Callable[[JobRecord], None]
"""A pure function that changes a record in place."""


@final
class TokenReuseError(Exception):
    """A client token was used before, with another request."""


def new_job_id(now: float) -> str:
    """Return an id that no job has."""
    return job_id(now, secrets.token_hex(_SUFFIX_BYTES))


@final
class JobStore:
    """The jobs of all accounts and regions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def start(self, job: JobRecord, parameters: dict[str, Any]) -> JobRecord:
        """Keep a new job; with a token that was used before, return that job instead.

        `parameters` are those of the request, which must be the same when a token is used again.
        """
        started = await write_surely(self._engine, _Start(job, parameters))
        if isinstance(started, str):
            found = await self.find(job.account, job.region, job.kind, started)
            if found is not None:
                return found
            raise EngineError(f"the job {started} of a token is gone")
        assert isinstance(started, JobRecord)
        return started

    async def is_known(self, job: JobRecord) -> bool:
        """Tell whether the token of a new job was used before."""
        (row,) = await self._engine.read([(STORE, 0, _token_key(job))], STRONG)
        return bool(job.token) and row is not None

    async def find(self, account: str, region: str, kind: str, id: str) -> JobRecord | None:
        """Return a job."""
        key = _key(b"j", account, region, kind, id)
        (row,) = await self._engine.read([(STORE, 0, key)], STRONG)
        return None if row is None else unpack_job(row)

    async def page(
        self, account: str, region: str, kind: str, *, before: str | None, jobs_max: int
    ) -> tuple[list[JobRecord], bool]:
        """Return the newest jobs of a kind, older than `before`, and whether there are more."""
        first = _key(b"j", account, region, kind, "")
        upper = successor(first) if before is None else first + before.encode()
        rows, ended = await self._engine.range(
            STORE,
            0,
            first,
            upper,
            reverse=True,
            rows_max=jobs_max + 1,
            bytes_max=_PAGE_BYTES,
            consistency=STRONG,
        )
        jobs = [unpack_job(row) for _, row in rows[:jobs_max]]
        return jobs, len(rows) > jobs_max or (not ended and len(rows) <= jobs_max)

    async def active(self) -> list[JobRecord]:
        """Return all jobs that have not ended, the oldest of each kind first."""
        keys = [(STORE, 0, b"j" + key[1:]) for key in await self._keys(b"a")]
        rows = await self._engine.read(keys, STRONG) if keys else []
        return [unpack_job(row) for row in rows if row is not None]

    async def count_active(self, account: str, region: str, kind: str) -> int:
        """Return how many jobs of a kind have not ended in an account and region."""
        return len(await self._keys(_key(b"a", account, region, kind, "")))

    async def change(self, job: JobRecord, edit: Editor) -> JobRecord | None:
        """Change a job, atomically, unless it has ended; return it as it is then."""
        changed = await write_surely(self._engine, _Change(job, edit))
        return changed if isinstance(changed, JobRecord) else None

    async def forget(self, ended_before: float) -> int:
        """Forget jobs that ended before a time, and unneeded tokens; return how many jobs."""
        doomed: list[RowKey] = []
        lower = b"j"
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                successor(b"j"),
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            for key, row in rows:
                job = unpack_job(row)
                if job.ended_at is not None and job.ended_at < ended_before:
                    doomed.append((STORE, 0, key))
                    if job.token:
                        doomed.append((STORE, 0, _token_key(job)))
            if ended or len(doomed) >= _PAGE_ROWS:
                break
            lower = rows[-1][0] + b"\x00"
        if doomed:
            await write_surely(self._engine, _Forget(doomed))
        return len(doomed)

    async def _keys(self, prefix: bytes) -> list[bytes]:
        found: list[bytes] = []
        lower = prefix
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                successor(prefix),
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            found.extend(key for key, _ in rows)
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"


def _key(first: bytes, *parts: str) -> bytes:
    return first + "\x00".join(parts).encode()


def _job_key(first: bytes, job: JobRecord) -> RowKey:
    return (STORE, 0, _key(first, job.account, job.region, job.kind, job.id))


def _token_key(job: JobRecord) -> bytes:
    return _key(b"k", job.account, job.region, job.kind, job.token)


@final
class _Start:
    """The decision that keeps a new job; the outcome is the job, or the id of the token's job."""

    def __init__(self, job: JobRecord, parameters: dict[str, Any]) -> None:
        self._job = job
        self._digest = hashlib.sha256(
            orjson.dumps(parameters, option=orjson.OPT_SORT_KEYS)
        ).hexdigest()
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (_job_key(b"j", job), (STORE, 0, _token_key(job)))

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        job = self._job
        if rows[0] is not None:  # this very decision, repeated
            return Changes(job)
        if job.token and rows[1] is not None:
            id, digest = rows[1].decode().split("\x00")
            first_at = int(id.partition("-")[0]) / 1000
            if job.created_at - first_at < JOB_TOKEN_SECONDS:
                if digest != self._digest:
                    raise TokenReuseError
                return Changes(id)
        changes = Changes(job)
        changes.creates.append(STORE)
        changes.is_announced = True
        changes.puts.append((*self.keys[0], job.pack()))
        changes.puts.append((*_job_key(b"a", job), b""))
        if job.token:
            changes.puts.append((*self.keys[1], f"{job.id}\x00{self._digest}".encode()))
        return changes


@final
class _Change:
    """The decision that changes a job which has not ended; the outcome is the new record."""

    def __init__(self, job: JobRecord, edit: Editor) -> None:
        self._edit = edit
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (_job_key(b"j", job),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        if rows[0] is None:
            return Changes()
        job = unpack_job(rows[0])
        changes = Changes(job)
        changes.is_unhurried = True
        if not job.is_active:
            return changes
        self._edit(job)
        changes.puts.append((*self.keys[0], job.pack()))
        if job.ended_at is not None:
            changes.deletes.append(_job_key(b"a", job))
        return changes


@final
class _Forget:
    """The decision that deletes rows."""

    def __init__(self, doomed: Sequence[RowKey]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = doomed[:1]
        self._doomed = doomed

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.extend(self._doomed)
        return changes
