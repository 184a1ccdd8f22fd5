"""Normalises the numbers of a request with very many values, in slices.

The model does that too, in the walk in which it checks values, but all at once. Numbers that are
normal already pass that walk quickly. What is no number is left for the model to refuse.
"""

from __future__ import annotations

from typing import Any

from hashrange.errors import ValidationException
from hashrange.model.numbers import is_canonical, normalize
from hashrange.pauses import Pace


async def settle_numbers(request: dict[str, Any]) -> None:
    """Replace the texts of numbers, wherever values are, by their normal form."""
    pace = Pace()
    pending: list[Any] = [request]
    while pending:
        value = pending.pop()
        if type(value) is list:
            pending += value
        elif type(value) is dict:
            text = value.get("N")
            if type(text) is str:
                value["N"] = _normal(text)
            elif type(value.get("NS")) is list:
                await _settle_set(value["NS"], pace)
            else:
                pending += value.values()
        if pace.is_over():
            await pace.pause()


async def _settle_set(members: list[Any], pace: Pace) -> None:
    for position, member in enumerate(members):
        if type(member) is str:
            members[position] = _normal(member)
            if pace.is_over():
                await pace.pause()


def _normal(text: str) -> str:
    if is_canonical(text):
        return text
    try:
        return normalize(text)
    except ValidationException:
        return text
