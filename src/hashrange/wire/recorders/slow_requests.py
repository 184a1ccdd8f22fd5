"""The log of slow and wasteful requests: what was asked for, without any value of it.

A request is slow if it took longer than a threshold, and wasteful if it examined many more items
than it returned. The line has the shape of the request: expressions as they were sent, whose values
are placeholders, names of attributes, and which parameters there were. Statements of PartiQL may
hold values, so only their first word is shown.
"""

from __future__ import annotations

import logging
from typing import Any, Final, final

from hashrange.api.scope import RequestScope
from hashrange.limits import LOGGED_TEXT_CHARACTERS_MAX

_LOGGER: Final = logging.getLogger("hashrange.slow")
# Below this, reading one row by one is no waste.
_EXAMINED_MIN: Final = 100
_TEXTS: Final = (
    *("IndexName", "KeyConditionExpression", "FilterExpression", "ConditionExpression"),
    *("UpdateExpression", "ProjectionExpression"),
)
_SERVICES: Final = ("dynamodb", "dynamodbstreams")


@final
class SlowRequests:
    """Logs slow and wasteful requests; a threshold of 0 is none."""

    def __init__(self, slow_seconds: float, wasteful_ratio: float) -> None:
        self._slow_seconds = slow_seconds or float("inf")
        self._wasteful_ratio = wasteful_ratio or float("inf")

    def record(self, scope: RequestScope) -> None:
        """Log a request if it deserves it."""
        examined = scope.examined_count
        is_slow = scope.ended - scope.started >= self._slow_seconds
        is_wasteful = examined >= _EXAMINED_MIN and examined >= self._wasteful_ratio * max(
            1, scope.returned_count
        )
        if (is_slow or is_wasteful) and scope.service in _SERVICES:
            kind = "slow and wasteful" if is_slow and is_wasteful else "slow"
            _LOGGER.warning(
                "%s request: %s took %.1f ms, examined %d and returned %d items, %g read and %g "
                "write units: %s, request %s",
                kind if is_slow else "wasteful",
                scope.operation,
                scope.duration_seconds * 1000,
                examined,
                scope.returned_count,
                sum(units[2] for units in scope.consumed),
                sum(units[3] for units in scope.consumed),
                shape_of(scope),
                scope.request_id,
            )


def shape_of(scope: RequestScope) -> str:
    """Return what a request asks for, without values."""
    request: dict[str, Any] = getattr(scope, "parameters", {})
    tables = [arn.partition(":table/")[2] for arn in scope.resources]
    parts = [f"tables {', '.join(tables)}"] if tables else []
    parts += [
        f"{name} {_printable(request[name])!r}"
        for name in _TEXTS
        if isinstance(request.get(name), str)
    ]
    names = request.get("ExpressionAttributeNames")
    if isinstance(names, dict):
        parts.append(f"names {_printable(', '.join(sorted(map(str, names.values()))))}")
    if isinstance(request.get("Statement"), str):
        parts.append(f"statement {_printable(request['Statement'].split()[:1][0])}")
    if "Limit" in request:
        parts.append(f"Limit {request['Limit']}")
    return "; ".join(parts)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:LOGGED_TEXT_CHARACTERS_MAX])
