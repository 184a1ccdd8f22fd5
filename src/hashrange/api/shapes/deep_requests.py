"""Requests nested so deep that AWS reads them in an older way, whose refusals it words otherwise.

The limit lies far beyond the nesting DynamoDB allows in values, so such a request is refused in
any case; what differs is which of its faults is reported, and how.
"""

from __future__ import annotations

from typing import Final

_JSON_LEVELS_MAX: Final = 127


def is_deep(request: object) -> bool:
    """Say whether a request nests JSON objects and arrays deeper than AWS's current reader goes."""
    layer = [request]
    for _ in range(_JSON_LEVELS_MAX):
        below: list[object] = []
        for value in layer:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        if not below:
            return False
        layer = below
    return any(isinstance(value, (dict, list)) for value in layer)
