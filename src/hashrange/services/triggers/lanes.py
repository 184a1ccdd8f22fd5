"""Lanes: batching, ordering and retries of the records of a shard. Pure.

The records of a shard run in one lane, or in several, in which case those with the same partition
key run in the same one. Invariants of a lane:

1. Records leave in the order in which they came, and none is passed over: a record is finished
   once a function took it, or once it was discarded and that was reported.
2. At most one batch is under way. While it fails, nothing behind it moves.
3. `first_open` is the first record that is not finished; to start again from there loses nothing.

Retries as on AWS: an error of the function counts against the retries, an unreachable function
does not; a batch that is bisected is split without counting; a function that reports the record
it failed at finishes those before, and the count begins anew with that record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final, final

from hashrange.limits import STREAM_RETENTION_SECONDS
from hashrange.model.triggers import UNBOUNDED, MappingRecord

PAYLOAD_BYTES_MAX: Final = 6 * 1024 * 1024
"""Of the event of one invocation, as on AWS."""

RETRIES_EXHAUSTED: Final = "RetryAttemptsExhausted"
TOO_OLD: Final = "RecordAgeExceeded"

_RETRY_SECONDS_FIRST: Final = 0.2
_RETRY_SECONDS_MAX: Final = 60.0
_DOUBLINGS_MAX: Final = 16


@final
class Entry:
    """A record on its way: its number, its time, and the JSON it is delivered as."""

    __slots__ = ("document", "identifier", "sequence", "time")

    def __init__(self, sequence: int, identifier: str, time: float, document: bytes) -> None:
        self.sequence = sequence
        self.identifier = identifier  # the number as clients see it
        self.time = time
        self.document = document


@final
class Outcome:
    """The outcome of an invocation: an answer or an error.

    `is_invoked` is False when the function could not be reached at all.
    """

    __slots__ = ("answer", "error", "is_invoked")

    def __init__(
        self, answer: Any = None, *, error: str | None = None, is_invoked: bool = True
    ) -> None:
        self.answer = answer
        self.error = error
        self.is_invoked = is_invoked


@final
class Invoke:
    """Call the function with these records, then tell `Lane.finish` the outcome."""

    __slots__ = ("entries",)

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries


@final
class Discard:
    """Report that these records are given up, then tell `Lane.discarded`."""

    __slots__ = ("condition", "entries", "invocations")

    def __init__(self, entries: Sequence[Entry], condition: str, invocations: int) -> None:
        self.entries = entries
        self.condition = condition
        self.invocations = invocations


@final
class Rest:
    """Nothing to do before a time, or before more records come when that is None."""

    __slots__ = ("until",)

    def __init__(self, until: float | None) -> None:
        self.until = until


Action = Invoke | Discard | Rest


@final
class _Batch:
    """Records that are delivered together, and how often that was tried."""

    __slots__ = ("attempts", "entries", "invocations")

    def __init__(self, entries: list[Entry], attempts: int = 0, invocations: int = 0) -> None:
        self.entries = entries
        self.attempts = attempts  # that count against the retries
        self.invocations = invocations


@final
class Lane:
    """The records of one lane that are not finished."""

    def __init__(self, mapping: MappingRecord) -> None:
        self._mapping = mapping
        self._waiting: deque[Entry] = deque()
        self._waiting_since = 0.0
        # What was taken from `_waiting`, first batch first; more than one after a bisection.
        self._batches: list[_Batch] = []
        self._retry_at = 0.0
        self._failures = 0
        self.is_closing = False
        self.open_count = 0
        self.open_bytes = 0

    @property
    def first_open(self) -> int | None:
        """The number of the first record that is not finished."""
        if self._batches:
            return self._batches[0].entries[0].sequence
        return self._waiting[0].sequence if self._waiting else None

    def add(self, entry: Entry, now: float) -> None:
        """Take a record in."""
        if not self._waiting:
            self._waiting_since = now
        self._waiting.append(entry)
        self.open_count += 1
        self.open_bytes += len(entry.document)

    def next(self, now: float) -> Action:
        """Return the next step; `finish` or `discarded` must follow, except after a Rest."""
        if not self._batches:
            window_end = self._waiting_since + self._mapping.window_seconds
            if not self._waiting:
                return Rest(None)
            if not self._is_full() and not self.is_closing and now < window_end:
                return Rest(window_end)
            self._batches.append(_Batch(self._gather(now)))
        batch = self._batches[0]
        aged = self._count_aged(batch.entries, now)
        if aged:
            return Discard(batch.entries[:aged], TOO_OLD, batch.invocations)
        if self._mapping.retries_max != UNBOUNDED and batch.attempts > self._mapping.retries_max:
            return Discard(batch.entries, RETRIES_EXHAUSTED, batch.invocations)
        if now < self._retry_at:
            return Rest(self._retry_at)
        return Invoke(batch.entries)

    def finish(self, outcome: Outcome, now: float) -> None:
        """Process the outcome of an invocation."""
        batch = self._batches[0]
        batch.invocations += outcome.is_invoked
        failed_at = self._find_failure(batch.entries, outcome)
        if failed_at is None:
            self._complete(len(batch.entries))
            self._failures = 0
            return
        self._failures += 1
        if not outcome.is_invoked:
            self._retry_at = now + _pause(self._failures)
        elif failed_at > 0:
            self._complete(failed_at)
            batch.attempts = 0 if self._mapping.bisects else 1
            self._failures = batch.attempts
            self._retry_at = now + _pause(self._failures)
        elif self._mapping.bisects and len(batch.entries) > 1:
            self._split(batch)
        else:
            batch.attempts += 1
            self._retry_at = now + _pause(self._failures)

    def discarded(self, discard: Discard) -> None:
        """Note that a discard was reported."""
        self._complete(len(discard.entries))
        self._failures = 0
        self._retry_at = 0.0

    def _is_full(self) -> bool:
        count_max = self._mapping.batch_size
        return len(self._waiting) >= count_max or self.open_bytes >= PAYLOAD_BYTES_MAX

    def _gather(self, now: float) -> list[Entry]:
        entries: list[Entry] = []
        room = PAYLOAD_BYTES_MAX
        while self._waiting and len(entries) < self._mapping.batch_size:
            room -= len(self._waiting[0].document)
            if room < 0 and entries:
                break
            entries.append(self._waiting.popleft())
        self._waiting_since = now
        return entries

    def _count_aged(self, entries: Sequence[Entry], now: float) -> int:
        """Return how many records at the front are too old to be delivered."""
        oldest = STREAM_RETENTION_SECONDS
        if self._mapping.age_seconds_max != UNBOUNDED:
            oldest = min(oldest, self._mapping.age_seconds_max)
        for count, entry in enumerate(entries):
            if now - entry.time <= oldest:
                return count
        return len(entries)

    def _find_failure(self, entries: Sequence[Entry], outcome: Outcome) -> int | None:
        """Return the place of the first record that failed, None when all went well."""
        if outcome.error is not None or not outcome.is_invoked:
            return 0
        if not self._mapping.reports_failures or not outcome.answer:
            return None
        if not isinstance(outcome.answer, dict):
            return 0
        failures = outcome.answer.get("batchItemFailures")
        if not failures:
            return None
        places = {entry.identifier: place for place, entry in enumerate(entries)}
        found = [places.get(_identifier(failure), 0) for failure in failures]
        return min(found)

    def _split(self, batch: _Batch) -> None:
        middle = len(batch.entries) // 2
        self._batches[0:1] = [
            _Batch(batch.entries[:middle], batch.attempts, batch.invocations),
            _Batch(batch.entries[middle:], batch.attempts, batch.invocations),
        ]

    def _complete(self, count: int) -> None:
        """Finish the first records of the first batch."""
        batch = self._batches[0]
        self.open_count -= count
        self.open_bytes -= sum([len(entry.document) for entry in batch.entries[:count]])
        batch.entries = batch.entries[count:]
        if not batch.entries:
            self._batches.pop(0)


def _identifier(failure: object) -> str:
    """Return the record a function says it failed at; an empty text stands for nonsense."""
    identifier = failure.get("itemIdentifier") if isinstance(failure, dict) else None
    return identifier if isinstance(identifier, str) else ""


def _pause(failures: int) -> float:
    """Return how long to wait after so many failures in a row."""
    if failures == 0:
        return 0.0
    seconds: float = _RETRY_SECONDS_FIRST * 2 ** min(failures - 1, _DOUBLINGS_MAX)
    return min(seconds, _RETRY_SECONDS_MAX)
