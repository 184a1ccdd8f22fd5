"""Lets go of large requests in slices."""

from __future__ import annotations

from typing import Any, Final

from hashrange.limits import LIST_MEMBERS_MAX
from hashrange.pauses import Pace

# Levels of a request above its items, and some of theirs.
_LEVELS_MAX: Final = 8
# Parts of a longer list or object that are let go at once.
_AT_ONCE: Final = 8192


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
            elif isinstance(part, dict | list):
                await _dismantle_long(part, pace)
            del part
            if pace.is_over():
                await pace.pause()
        layer = below


async def _dismantle_long(part: dict[str, Any] | list[Any], pace: Pace) -> None:
    """Let go of the members of a long part, some at a time; what they hold goes with them."""
    while part:
        if isinstance(part, list):
            del part[-_AT_ONCE:]
        else:
            for _ in range(min(_AT_ONCE, len(part))):
                part.popitem()
        if pace.is_over():
            await pace.pause()
