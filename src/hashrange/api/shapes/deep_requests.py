"""Detects requests nested so deep that AWS uses an older reader with other error messages.

The limit is far beyond the nesting that DynamoDB allows in values, so such a request is refused in
any case. The reader decides which error is reported, and in which words.
"""

from __future__ import annotations

from typing import Final

_JSON_LEVELS_MAX: Final = 127
# A request with more values on one level is not looked at any further.
_VALUES_MAX: Final = 20_000


def is_deep(request: object) -> bool:
    """Tell whether a request nests JSON deeper than AWS's current reader allows."""
    layer = [request]
    for _ in range(_JSON_LEVELS_MAX):
        below: list[object] = []
        for value in layer:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            if len(below) > _VALUES_MAX:
                return False
        if not below:
            return False
        layer = below
    return any(isinstance(value, (dict, list)) for value in layer)
