"""The replaceable stages of the request pipeline, and the trivial ones.

`authenticate → authorise → admit → run → record`, in this order, for every service and protocol.
A stage refuses a request by raising a `ClientError`. Stages answer at once in most cases, so they
return a result, or an awaitable of it when they have to wait. `record` is called once for every
request, refused ones included, and raises nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol, final

from hashrange.api.operation import Request
from hashrange.api.scope import Caller, RequestScope
from hashrange.limits import LOGGED_TEXT_CHARACTERS_MAX
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

    def record(self, scope: RequestScope) -> Awaitable[None] | None:
        """Take note of a request; the answer waits for what is returned."""


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
class Recorders:
    """Several recorders, one after the other."""

    def __init__(self, recorders: Sequence[Recorder]) -> None:
        self._records = tuple(recorder.record for recorder in recorders)

    def record(self, scope: RequestScope) -> Awaitable[None] | None:
        waiting = None
        for record in self._records:
            found = record(scope)
            if found is not None:
                waiting = found if waiting is None else _one_by_one(waiting, found)
        return waiting


async def _one_by_one(first: Awaitable[None], second: Awaitable[None]) -> None:
    await first
    await second


@final
class RequestLog:
    """A recorder that logs a line for each request, at level DEBUG."""

    def record(self, scope: RequestScope) -> None:
        outcome = f"{scope.error}: {scope.reason}" if scope.reason else scope.error
        _LOGGER.debug(
            "%s %d in %.1f ms, request %s",
            _printable(" ".join((scope.operation, *_tables(scope)))),
            scope.status,
            scope.duration_seconds * 1000,
            scope.request_id + (f", {_printable(outcome)}" if outcome else ""),
        )


def _tables(scope: RequestScope) -> list[str]:
    """Return the names of the tables that were used, or of the one that was asked for."""
    parts = [arn.partition(":table/")[2].partition("/")[0] for arn in scope.resources]
    names = list(dict.fromkeys(part for part in parts if part))
    requested = scope.requested_table
    if not names and isinstance(requested, str):
        names.append(requested)
    return names


def _printable(text: str) -> str:
    """Return a text of clients as part of one line of the log."""
    if len(text) > LOGGED_TEXT_CHARACTERS_MAX:
        text = text[:LOGGED_TEXT_CHARACTERS_MAX] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


@final
class Stages:
    """One choice of stages, made at the composition root.

    The request log is one of the recorders if its level is enabled.
    """

    __slots__ = ("_recorders", "admission", "authenticator", "authoriser")

    def __init__(
        self,
        authenticator: Authenticator | None = None,
        authoriser: Authoriser | None = None,
        admission: Admission | None = None,
        recorders: Sequence[Recorder] = (),
    ) -> None:
        self.authenticator: Authenticator = authenticator or OpenDoor()
        self.authoriser: Authoriser = authoriser or AllowAll()
        self.admission: Admission = admission or Unlimited()
        self._recorders = list(recorders)
        if _LOGGER.isEnabledFor(logging.DEBUG):
            self._recorders.append(RequestLog())

    def with_admission(self, admission: Admission) -> Stages:
        """Return these stages with another admission."""
        stages = Stages(self.authenticator, self.authoriser, admission)
        stages._recorders = self._recorders
        return stages

    def with_recorders(self, recorders: Sequence[Recorder]) -> Stages:
        """Return these stages with more recorders."""
        stages = Stages(self.authenticator, self.authoriser, self.admission)
        stages._recorders = [*self._recorders, *recorders]
        return stages

    def recorder(self) -> Recorder | None:
        """Return one recorder for all, None if there is none."""
        if len(self._recorders) > 1:
            return Recorders(self._recorders)
        return self._recorders[0] if self._recorders else None
