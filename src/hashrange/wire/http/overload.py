"""Refusals of a server that has too much to do; SDKs try again later."""

from __future__ import annotations

from typing import Final

from hashrange.errors import ServiceUnavailableException
from hashrange.wire.http.messages import JSON_1_0, HttpAnswer, HttpRequest
from hashrange.wire.protocols.json_codec import encode


def _overloaded(reason: str) -> HttpAnswer:
    """Return the answer that tells SDKs to try again later."""
    error = ServiceUnavailableException(
        f"The server is overloaded: {reason}. Reduce the rate of requests and try again."
    )
    return HttpAnswer(error.status, encode(error.document()), JSON_1_0)


BUSY: Final = _overloaded("too much is being sent at once")
_TOO_MANY_CONNECTIONS: Final = _overloaded("it has too many connections")
_TOO_MANY_REQUESTS: Final = _overloaded("it has too many requests in flight")


def refuse_overload(request: HttpRequest, *, is_surplus: bool) -> None:
    """Refuse a call, because there are too many connections (`is_surplus`) or requests."""
    if request.refusal is not None or request.head.method != b"POST":
        return
    if is_surplus:
        request.keep_alive = False
        request.refusal = _TOO_MANY_CONNECTIONS
    else:
        request.refusal = _TOO_MANY_REQUESTS
