"""Lets go of large requests in slices."""

from __future__ import annotations

from typing import Any, Final

from hashrange.limits import LIST_MEMBERS_MAX
from hashrange.pauses import Pace

# Levels of a request above its items, and some of theirs.
_LEVELS_MAX: Final = 8


async def dismantle(request: dict[str, Any]) -> None:
    """Let go of a large request part by part, since freeing millions of objects takes time, too."""
    pace = Pace()
    layer: list[Any] = [request]
    for _ in range(_LEVELS_MAX):
        below: list[Any] = []
        while layer:
            part = layer.pop()
            if isinstance(part, dict) and len(part) <= LIST_MEMBERS_MAX:
                below += part.values()
                part.clear()
            elif isinstance(part, list) and len(part) <= LIST_MEMBERS_MAX:
                below += part
                part.clear()
            del part
            if pace.is_over():
                await pace.pause()
        layer = below
