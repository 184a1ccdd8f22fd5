"""Calls functions as a trigger would, and returns the outcomes."""

import asyncio
import json
import os

from hashrange.services.triggers.functions import make_target
from hashrange.services.triggers.targets import Invocation, Surroundings

WORLD = ("123456789012", "eu-west-1")
EVENT = {"Records": [{"eventID": "1"}]}


def call(function, *events, at_once=False):
    """Call a function with events; return the outcomes."""

    async def scenario():
        target = make_target(WORLD, function, Surroundings("http://127.0.0.1:1", os.environ))
        invocations = [Invocation(json.dumps(event).encode()) for event in events]
        try:
            if at_once:
                return await asyncio.gather(*(target.invoke(each) for each in invocations))
            return [await target.invoke(each) for each in invocations]
        finally:
            await target.close()

    return asyncio.run(scenario())
