"""Which failures are tried again, after how long, and what the others are called.

Throttling and conflicts say that nothing was done, so every request may be sent again. A server
error or a lost connection leaves that open: only repeatable requests are sent again then. The
pause before attempt n is random between zero and `base * 2**n` seconds, at most `cap` ("full
jitter"), so that clients that failed together do not come back together.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

from hashrange.toolkit.client.plans import Call, Pause, Plan
from hashrange.toolkit.errors import (
    ConditionFailed,
    RequestRefused,
    Throttled,
    ToolkitError,
    Unavailable,
)
from hashrange.toolkit.values import from_wire_item

THROTTLING: Final = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ThrottlingError",
        "SlowDown",
    }
)
CONFLICTS: Final = frozenset(
    {"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"}
)
SERVER_ERRORS: Final = frozenset(
    {"InternalServerError", "InternalFailure", "ServiceUnavailable", "InternalError"}
)


@final
@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a request is repeated. `jitter` returns a number from 0 to 1."""

    attempts: int = 8
    base: float = 0.05
    cap: float = 5.0
    jitter: Callable[[], float] = field(default=random.random)

    def pause(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, counted from 0."""
        return min(self.cap, self.base * 2.0**attempt) * self.jitter()


DEFAULT_POLICY: Final = RetryPolicy()


def attempt(call: Call, policy: RetryPolicy = DEFAULT_POLICY) -> Plan[dict[str, Any]]:
    """Carry out a call, again and again while that can help; errors are those of the toolkit."""
    for number in range(policy.attempts):
        try:
            answer: dict[str, Any] = yield call
            return answer
        except Exception as error:
            translated = translate(error)
            if translated is None:
                raise
            if not _may_repeat(error, translated, call) or number + 1 == policy.attempts:
                raise translated from error
        yield Pause(policy.pause(number))
    raise AssertionError("a policy has at least one attempt")


def translate(error: Exception) -> ToolkitError | None:
    """Return the toolkit's error for one of botocore; None for anything that is not botocore's."""
    code = error_code(error)
    if code:
        return _translated(error, code)
    if not type(error).__module__.startswith(("botocore.", "aiobotocore.", "aiohttp.")):
        return None
    if _is_lost(error):
        return Unavailable(f"no answer: {error}")
    return RequestRefused(type(error).__name__, str(error))


def error_code(error: Exception) -> str:
    """Return the error code of the service's answer, or an empty text if it did not answer."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def cancellation_codes(error: BaseException | None) -> list[str]:
    """Return the codes of the reasons why a transaction was cancelled, one for each step."""
    response = getattr(error, "response", None) or {}
    return [str(each.get("Code", "None")) for each in response.get("CancellationReasons", [])]


def _translated(error: Exception, code: str) -> ToolkitError:
    response: dict[str, Any] = error.response  # type: ignore[attr-defined]  # it has a code
    message = str(response["Error"].get("Message", ""))
    if code == "ConditionalCheckFailedException":
        item = response.get("Item")
        return ConditionFailed(message, from_wire_item(item) if item else None)
    if code in THROTTLING:
        return Throttled(f"{code}: {message}")
    if code in SERVER_ERRORS or _status(response) >= 500:
        return Unavailable(f"{code}: {message}")
    return RequestRefused(code, message)


def _status(response: dict[str, Any]) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _is_lost(error: Exception) -> bool:
    names = {each.__name__ for each in type(error).__mro__}
    return bool(names & {"HTTPClientError", "ConnectionError", "ClientConnectionError"})


def _was_never_sent(error: Exception) -> bool:
    names = {each.__name__ for each in type(error).__mro__}
    return bool(names & {"EndpointConnectionError", "ConnectTimeoutError"})


def _may_repeat(error: Exception, translated: ToolkitError, call: Call) -> bool:
    if isinstance(translated, Throttled) or error_code(error) in CONFLICTS:
        return True
    if _was_never_sent(error):
        return True
    codes = {code for code in cancellation_codes(error) if code != "None"}
    if codes and codes <= THROTTLING | CONFLICTS:
        return True
    return isinstance(translated, Unavailable) and call.repeatable
