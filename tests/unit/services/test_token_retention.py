"""Tokens past their window are dropped, in bounded steps."""

import asyncio

from hashrange.clock import VirtualClock
from hashrange.engine.base import STRONG, Changes
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.limits import CLIENT_TOKEN_SECONDS
from hashrange.services.token_retention import drop_old_tokens
from hashrange.storage.tokens import TOKEN_STORE, window_key


class Puts:
    """The decision that puts tokens."""

    fences = ()

    def __init__(self, keys):
        self.keys = [(TOKEN_STORE, 0, key) for key in keys]

    def decide(self, rows):
        changes = Changes()
        changes.creates.append(TOKEN_STORE)
        changes.puts.extend((*key, b"token") for key in self.keys)
        return changes


async def kept(engine, keys):
    rows = await engine.read([(TOKEN_STORE, 0, key) for key in keys], STRONG)
    return [row is not None for row in rows]


def test_only_windows_that_nobody_can_ask_for_are_dropped():
    async def scenario():
        engine, clock = MemoryEngine(), VirtualClock()
        now = clock.now()
        keys = [window_key(now, "token", back=back) for back in (0, 1, 2, 3)]
        await engine.write(Puts(keys))
        assert await drop_old_tokens(engine, clock) == 2
        assert await kept(engine, keys) == [True, True, False, False]
        assert await drop_old_tokens(engine, clock) == 0
        clock.advance(2 * CLIENT_TOKEN_SECONDS)
        assert await drop_old_tokens(engine, clock) == 2

    asyncio.run(scenario())


def test_a_step_drops_no_more_than_it_may():
    async def scenario():
        engine, clock = MemoryEngine(), VirtualClock()
        await engine.write(Puts([window_key(0.0, f"{number}") for number in range(501)]))
        assert [await drop_old_tokens(engine, clock) for _ in range(3)] == [500, 1, 0]

    asyncio.run(scenario())
