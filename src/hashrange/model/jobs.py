"""Records of jobs: long work that a request starts and the background carries out. Pure.

The id of a job begins with the time of its request, so ids are in the order of time. `request`
holds what was asked for and never changes. `progress` holds how far the job has come; what is in
both is up to the kind of job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hashrange.errors import CorruptionError

FORMAT: Final = 1

IN_PROGRESS: Final = "IN_PROGRESS"
CANCELLING: Final = "CANCELLING"
COMPLETED: Final = "COMPLETED"
COMPLETED_WITH_ERRORS: Final = "COMPLETED_WITH_ERRORS"
FAILED: Final = "FAILED"
CANCELLED: Final = "CANCELLED"

ACTIVE_STATUSES: Final = (IN_PROGRESS, CANCELLING)


@dataclass(slots=True)
class JobRecord:
    """A job; `token` is the client's, empty if it sent none."""

    id: str
    kind: str
    account: str
    region: str
    arn: str
    created_at: float
    request: dict[str, Any]
    token: str = ""
    status: str = IN_PROGRESS
    progress: dict[str, Any] = field(default_factory=dict)
    attempts: int = 0  # since it last came forward
    ended_at: float | None = None
    failure_code: str = ""
    failure_message: str = ""

    @property
    def is_active(self) -> bool:
        """Tell whether there is still something to do."""
        return self.status in ACTIVE_STATUSES

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "job": self})


def unpack_job(row: bytes) -> JobRecord:
    """Return the record of a row."""
    try:
        document = orjson.loads(row)
        if document["format"] != FORMAT:
            raise CorruptionError(f"job of format {document['format']!r}")
        return JobRecord(**document["job"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CorruptionError(f"row is not a job: {row[:80]!r}") from error


def job_id(now: float, suffix: str) -> str:
    """Return the id of a job that begins now, in the form of AWS's exports, imports and backups."""
    return f"0{int(now * 1000):013}-{suffix}"
