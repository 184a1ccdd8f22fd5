"""Writes that may be repeated, carried out until their outcome is known."""

from __future__ import annotations

import asyncio
from typing import Final

from hashrange.engine.base import Decision, Engine
from hashrange.errors import UnknownOutcomeError

_ATTEMPTS_MAX: Final = 20


async def write_surely(engine: Engine, decision: Decision) -> object:
    """Carry out a decision that may be repeated, until its outcome is known."""
    for _ in range(_ATTEMPTS_MAX - 1):
        try:
            return await engine.write(decision)
        except UnknownOutcomeError:
            await asyncio.sleep(0)
    return await engine.write(decision)
