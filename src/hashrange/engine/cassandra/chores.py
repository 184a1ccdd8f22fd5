"""Deletes the rows of dropped stores, a store at a time, in the background."""

from __future__ import annotations

import os
from time import monotonic
from typing import Final, final

from hashrange.engine.cassandra.group_commit import batch_of
from hashrange.engine.cassandra.link import Link, NoAnswer
from hashrange.engine.cassandra.row_reads import RowReads
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import CONDITIONAL, QUORUM, SERIAL
from hashrange.engine.cassandra.shard_state import BOOKS_KEY, HEAD_KEY, META_STORE
from hashrange.engine.cassandra.steps import Step
from hashrange.engine.cassandra.stores import Stores

_META: Final = {(META_STORE, HEAD_KEY), (META_STORE, BOOKS_KEY)}
_ATTEMPTS_MAX: Final = 20
_PAUSE_SECONDS: Final = 60.0


@final
class Chores:
    """The deletion of what was dropped."""

    def __init__(
        self, link: Link, statements: Statements, stores: Stores, reads: RowReads, prefix: str
    ) -> None:
        self._link = link
        self._statements = statements
        self._stores = stores
        self._reads = reads
        self._prefix = prefix
        self._look_at = 0.0
        self._drops_seen = 0

    async def step(self) -> bool:
        """Delete the rows of one dropped store; return whether there was one.

        Looks for stores that other processes dropped once a minute.
        """
        if monotonic() < self._look_at and self._stores.drops == self._drops_seen:
            return False
        self._drops_seen = self._stores.drops
        rows = await self._link.read(self._statements.read_chores.bind(()), QUORUM)
        for space, number in rows:
            if space.startswith(self._prefix) and await self._delete(space, number):
                await self._link.read(self._statements.end_chore.bind((space, number)), QUORUM)
                self._look_at = 0.0
                return True
        self._look_at = monotonic() + _PAUSE_SECONDS
        return False

    async def _delete(self, space: str, number: int) -> bool:
        """Delete the rows of a store; tell whether that is done, now or earlier."""
        shards = await self._stores.shards_of_dropped(space, number)
        if shards is None:
            return False  # it is about to be dropped
        for shard in range(shards):
            if not await self._empty(space, shard, number):
                return False
        if shards:
            await self._stores.end_drop(space, number)
        return True

    async def _empty(self, space: str, shard: int, number: int) -> bool:
        """Delete a store's rows in one shard, as a step of that shard."""
        place = (space, shard)
        for _ in range(_ATTEMPTS_MAX):
            step = Step(place, await self._reads.view(place, set(_META), SERIAL))
            step.finish(os.urandom(8), self._stores.is_gone)
            batch = batch_of(step, self._statements)
            batch.append(self._statements.delete_store.bind((*place, number)))
            try:
                [answer] = await self._link.ask(self._link.batch(batch), CONDITIONAL)
            except NoAnswer:
                continue
            if answer[0]:
                return True
        return False
