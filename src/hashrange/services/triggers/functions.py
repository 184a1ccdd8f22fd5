"""The functions of all mappings as targets: made when first called, and anew when they change."""

from __future__ import annotations

import asyncio
from typing import Final, final

from hashrange.model.triggers import FunctionRecord, World
from hashrange.services.triggers.command_target import CommandTarget
from hashrange.services.triggers.http_target import HttpTarget
from hashrange.services.triggers.lanes import Outcome
from hashrange.services.triggers.meter import FunctionMeter
from hashrange.services.triggers.python_target import PythonTarget
from hashrange.services.triggers.targets import Invocation, Surroundings, Target
from hashrange.storage.triggers import TriggerStore

INVOCATIONS_MAX: Final = 64
"""Under way at a time, of all functions."""


@final
class Functions:
    """Calls functions by name; `meter` measures them, if there is one."""

    def __init__(self, store: TriggerStore, surroundings: Surroundings) -> None:
        self._store = store
        self._surroundings = surroundings
        self._targets: dict[tuple[World, str], tuple[FunctionRecord, Target]] = {}
        self._places = asyncio.Semaphore(INVOCATIONS_MAX)
        self.meter: FunctionMeter | None = None

    async def invoke(self, world: World, name: str, invocation: Invocation) -> Outcome:
        """Call a function; one that is not registered counts as out of reach."""
        function = await self._store.function(world, name)
        if function is None:
            return Outcome(error=f"function {name} is not registered", is_invoked=False)
        target = await self._target(world, function)
        async with self._places:
            if self.meter is None:
                return await target.invoke(invocation)
            with self.meter.running(world, name) as outcomes:
                outcomes.append(await target.invoke(invocation))
            return outcomes[0]

    async def close(self) -> None:
        """Let go of all processes."""
        targets = [target for _, target in self._targets.values()]
        self._targets.clear()
        await asyncio.gather(*(target.close() for target in targets))

    async def _target(self, world: World, function: FunctionRecord) -> Target:
        key = (world, function.name)
        known = self._targets.get(key)
        if known is not None and known[0] == function:
            return known[1]
        target = make_target(world, function, self._surroundings)
        self._targets[key] = (function, target)
        if known is not None:
            await known[1].close()
        return target


def make_target(world: World, function: FunctionRecord, surroundings: Surroundings) -> Target:
    """Return a function as it can be called."""
    if function.kind == "python":
        return PythonTarget(world, function, surroundings)
    if function.kind == "http":
        return HttpTarget(world, function)
    return CommandTarget(world, function, surroundings)
