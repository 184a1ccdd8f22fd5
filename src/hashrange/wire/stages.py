"""The replaceable stages of the request pipeline, and the trivial ones.

`authenticate → authorise → admit → run → record`, in this order, for every service and protocol.
A stage refuses a request by raising a `ClientError`. Stages answer at once in most cases, so they
return a result, or an awaitable of it when they have to wait. `record` is called once for every
request, refused ones included, and raises nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Final, Protocol, final

from hashrange.api.operation import Request
from hashrange.api.scope import Caller, RequestScope
from hashrange.wire.auth.sigv4 import OpenDoor
from hashrange.wire.http.messages import HttpRequest

_LOGGER: Final = logging.getLogger("hashrange.requests")


class Authenticator(Protocol):
    """Finds out who sent a request."""

    def authenticate(self, request: HttpRequest, signing_name: str) -> Caller | Awaitable[Caller]:
        """Return the caller of a request that has to be signed for the service named."""


class Authoriser(Protocol):
    """Decides whether the principal may do what the request asks for."""

    def authorise(self, scope: RequestScope, request: Request) -> Awaitable[None] | None: ...


class Admission(Protocol):
    """Decides whether there is capacity for the request now."""

    def admit(self, scope: RequestScope, request: Request) -> Awaitable[None] | None: ...


class Recorder(Protocol):
    """Takes note of requests that were answered: metrics, logs, traces."""

    def record(self, scope: RequestScope) -> None: ...


@final
class AllowAll:
    """The authoriser of a server without policies."""

    def authorise(self, scope: RequestScope, request: Request) -> Awaitable[None] | None:
        return None


@final
class Unlimited:
    """The admission of a server without throughput limits."""

    def admit(self, scope: RequestScope, request: Request) -> Awaitable[None] | None:
        return None


@final
class NoRecorder:
    """The recorder of a server that keeps no records."""

    def record(self, scope: RequestScope) -> None:
        return None


@final
class RequestLog:
    """A recorder that logs a line for each request, at level DEBUG."""

    def record(self, scope: RequestScope) -> None:
        _LOGGER.debug(
            "%s %d in %.1f ms, request %s",
            scope.operation,
            scope.status,
            scope.duration_seconds * 1000,
            scope.request_id,
        )


def default_recorder() -> Recorder:
    """Return the request log if its level is enabled, else no recorder."""
    return RequestLog() if _LOGGER.isEnabledFor(logging.DEBUG) else NoRecorder()


@final
class Stages:
    """One choice of stages, made at the composition root."""

    __slots__ = ("admission", "authenticator", "authoriser", "recorder")

    def __init__(
        self,
        authenticator: Authenticator | None = None,
        authoriser: Authoriser | None = None,
        admission: Admission | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.authenticator: Authenticator = authenticator or OpenDoor()
        self.authoriser: Authoriser = authoriser or AllowAll()
        self.admission: Admission = admission or Unlimited()
        self.recorder: Recorder = recorder or default_recorder()
