"""Leases: rows that vanish unless their holder renews them."""

from __future__ import annotations

import asyncio
import math
import os
from time import monotonic
from typing import Final, final

from hashrange.engine.cassandra.link import Link, NoAnswer
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import CONDITIONAL, QUORUM
from hashrange.errors import EngineError

_HOLDER_BYTES: Final = 16
# How many times a lease is renewed in its time.
_RENEWALS: Final = 4


@final
class CassandraLease:
    """A lease, renewed by a task of its own; lost when renewing has failed for too long."""

    def __init__(self, leases: Leases, name: str, seconds: float, began: float) -> None:
        self._leases = leases
        self.name = name
        self.holder = os.urandom(_HOLDER_BYTES)
        self._seconds = seconds
        self._until = began + seconds
        self._is_released = False
        self.task: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        return not self._is_released and monotonic() < self._until

    async def release(self) -> None:
        if self._is_released:
            return
        self._is_released = True
        if self.task is not None:
            self.task.cancel()
        await self._leases.give_back(self)

    async def renew(self) -> None:
        """Renew the lease again and again, until it is lost.

        One that was lost stays lost: its holder has begun to stop, and others shall have it.
        """
        while True:
            await asyncio.sleep(self._seconds / _RENEWALS)
            began = monotonic()
            if not self.is_held:
                return
            try:
                is_renewed = await self._leases.renew(self, self._seconds)
            except (NoAnswer, EngineError):
                continue
            if not is_renewed:
                self._until = 0.0
            elif monotonic() < self._until:
                self._until = began + self._seconds


@final
class Leases:
    """The leases that this process takes."""

    def __init__(self, link: Link, statements: Statements, prefix: str) -> None:
        self._link = link
        self._statements = statements
        self._prefix = prefix
        self._held: set[CassandraLease] = set()

    async def take(self, name: str, seconds: float) -> CassandraLease | None:
        """Take a lease unless another process holds it.

        Processes that want the lease of another ask again and again, so they look before they
        ask for a round of Paxos.
        """
        seen = self._statements.read_lease.bind((self._prefix + name,))
        if await self._link.read(seen, QUORUM):
            return None
        lease = CassandraLease(self, self._prefix + name, seconds, monotonic())
        values = (lease.name, lease.holder, _whole(seconds))
        bound = self._statements.take_lease.bind(values)
        try:
            [answer] = await self._link.ask(bound, CONDITIONAL)
        except NoAnswer as error:
            # If it was taken, nobody renews it.
            raise EngineError(f"no answer to the request for a lease: {error}") from error
        if not answer[0]:
            return None
        self._held.add(lease)
        lease.task = asyncio.create_task(lease.renew())
        return lease

    async def renew(self, lease: CassandraLease, seconds: float) -> bool:
        """Renew a lease; tell whether it is still ours."""
        values = (_whole(seconds), lease.holder, lease.name, lease.holder)
        bound = self._statements.renew_lease.bind(values)
        [answer] = await self._link.ask(bound, CONDITIONAL)
        return bool(answer[0])

    async def give_back(self, lease: CassandraLease) -> None:
        """Let others have a lease; if that fails, they get it when its time is over."""
        self._held.discard(lease)
        bound = self._statements.release_lease.bind((lease.name, lease.holder))
        try:
            await self._link.ask(bound, CONDITIONAL)
        except (NoAnswer, EngineError):
            return

    async def close(self) -> None:
        """Release all."""
        await asyncio.gather(*(lease.release() for lease in list(self._held)))


def _whole(seconds: float) -> int:
    """Return whole seconds that are no shorter: the row must not vanish before its holder knows."""
    return math.ceil(seconds) + 1
