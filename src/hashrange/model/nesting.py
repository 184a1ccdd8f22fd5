"""How deep attribute values are nested."""

from __future__ import annotations

from typing import Any


def nests_beyond(levels_max: int, item: dict[str, Any]) -> bool:
    """Say whether some value of an item is nested deeper than so many levels."""
    pending: list[tuple[object, int]] = [(value, 1) for value in item.values()]
    while pending:
        value, level = pending.pop()
        if level > levels_max:
            return True
        if isinstance(value, dict):
            nested = value.get("M")
            if isinstance(nested, dict):
                pending.extend((element, level + 1) for element in nested.values())
            nested = value.get("L")
            if isinstance(nested, list):
                pending.extend((element, level + 1) for element in nested)
    return False
