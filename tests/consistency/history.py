"""What clients did and saw: operations with the times of their call and return.

An operation whose outcome nobody knows (no answer, or an answer that says so) may take effect at
any later time, so it never returns. Times are nanoseconds of one monotonic clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.served import NoAnswerError
from tests.harness.endpoint import Reply

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
NEVER = 2**62

# Refusals after which nothing has happened: the condition failed, or the service was too busy.
_NOTHING_HAPPENED = frozenset(
    {
        "ConditionalCheckFailedException",
        "TransactionCanceledException",
        "TransactionConflictException",
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
    }
)


@dataclass(slots=True)
class Operation:
    """One operation. `wrote` and `read` map keys to values; their form is the workload's."""

    process: int
    kind: str
    wrote: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)
    called: int = 0
    returned: int = NEVER
    outcome: str = UNKNOWN
    refusal: str = ""


class History:
    """The operations of all clients, in no order; clients record from their own threads."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._lock = threading.Lock()

    def record(self, operation: Operation, send: Callable[[], Reply]) -> Reply | None:
        """Send a request, note times and outcome; return the answer if there is one.

        A request that was never sent is not noted: ConnectionError passes.
        """
        reply = None
        operation.called = time.monotonic_ns()
        try:
            reply = send()
        except NoAnswerError:
            pass
        else:
            operation.outcome = outcome_of(reply)
            operation.refusal = reply.error
        if operation.outcome != UNKNOWN:
            operation.returned = time.monotonic_ns()
        self.add(operation)
        return reply

    def add(self, operation: Operation) -> None:
        """Note an operation whose times and outcome are known already."""
        with self._lock:
            self.operations.append(operation)

    def count(self, outcome: str) -> int:
        """Return how many operations had an outcome."""
        return sum(operation.outcome == outcome for operation in self.operations)


def outcome_of(reply: Reply) -> str:
    """Return what an answer says about the operation."""
    if reply.status == 200:
        return OK
    if reply.error in _NOTHING_HAPPENED:
        return REFUSED
    if reply.error == "TransactionInProgressException":
        return UNKNOWN  # the first request with this token is still under way
    assert reply.status >= 500, f"a workload sent a bad request: {reply.error}: {reply.message}"
    return UNKNOWN
