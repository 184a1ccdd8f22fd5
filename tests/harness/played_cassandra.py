"""A Cassandra cluster played in memory, for the engine's own tests where there is none.

One copy of the data, so that everything is at a quorum at once. Conditional statements lose
requests and answers, and requests that were thought lost arrive late, as from a coordinator that
was paused. A quorum read may ask its replicas one after the other: the first before some steps are
made, the second after them, when it has got the last of these steps and misses the others. All of
it comes from a seed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

from hashrange.engine.cassandra.engine import CassandraEngine
from hashrange.engine.cassandra.link import NoAnswer, Rows
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import CONDITIONAL, ONE
from hashrange.engine.counts import Counts

Values = tuple[Any, ...]
ALWAYS = 1 << 62
# How long a replica may be behind another, in turns of the event loop.
_TURNS_MAX = 200
_UNEVEN = ("read_keys", "read_up", "read_down")


class Prepared:
    """A prepared statement, known by its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def bind(self, values: Values) -> tuple[str, Values]:
        return self.text, values


class Preparing:
    """The session that prepared statements come from."""

    def prepare(self, text: str) -> Prepared:
        return Prepared(text)


STATEMENTS = Statements(Preparing(), "played")
NAMES = {prepared.text: name for name, prepared in vars(STATEMENTS).items()}


class PlayedCassandra:
    """The tables of one cluster; several engines may share them."""

    def __init__(self, seed: int = 0, no_answer: float = 0.0, uneven: float = 0.0) -> None:
        self.random = random.Random(seed)
        self.no_answer = no_answer
        # How often replicas are read one after the other.
        self.uneven = uneven
        # The rows of the last step of each shard.
        self.last_steps: dict[tuple[str, int], set[tuple[int, bytes]]] = {}
        self.partitions: dict[tuple[str, int], dict[tuple[int, bytes], tuple[Any, int, int]]] = {}
        self.spaces: dict[str, tuple[bytes, int]] = {}
        self.leases: dict[str, bytes] = {}
        self.signals: dict[tuple[int, str, int], bytes] = {}
        self.chores: dict[tuple[str, int], None] = {}
        self.late: list[list[tuple[str, Values]]] = []

    def engine(self, shards: int = 4) -> CassandraEngine:
        """Return an engine on this cluster."""
        return CassandraEngine(PlayedLink(self), STATEMENTS, shards=shards, prefix="")

    def carry_out(self, statements: list[tuple[str, Values]]) -> Rows:
        """Carry out the statements of one batch, if their conditions hold."""
        for text, values in statements:
            if NAMES[text] == "move_head":
                row = self.partition(*values[2:4]).get((0, b"\x00"))
                if (row[1] if row else None) != values[4]:
                    return [(False,)]
        answers: Rows = []
        for text, values in statements:
            self._note(NAMES[text], values)
            act: Callable[..., Rows] = getattr(self, "do_" + NAMES[text])
            answers += act(*values)
        return answers

    def _note(self, name: str, values: Values) -> None:
        """Take note of the rows of a step, which begins with its head."""
        if name == "move_head":
            self.last_steps[values[2:4]] = {(0, b"\x00")}
        elif name in ("put", "delete"):
            self.last_steps.setdefault(values[:2], set()).add(values[2:4])

    def rows_unevenly(self, before: Rows, name: str, values: Values) -> Rows:
        """Return what was found before, with the rows of the last step as they are now."""
        last = self.last_steps.get(values[:2], set())
        now: Rows = getattr(self, "do_" + name)(*values)
        if name == "read_keys":
            return [row for row in before if row[:2] not in last] + [
                row for row in now if row[:2] in last
            ]
        keys = {key for store, key in last if store == values[2]}
        rows = [row for row in before if row[0] not in keys] + [
            row for row in now if row[0] in keys
        ]
        return sorted(rows, reverse=name == "read_down")[: values[-1]]

    def partition(self, space: str, shard: int) -> dict[tuple[int, bytes], tuple[Any, int, int]]:
        return self.partitions.setdefault((space, shard), {})

    def do_read_keys(self, space: str, shard: int, keys: list[tuple[int, bytes]]) -> Rows:
        rows = self.partition(space, shard)
        return [(*key, *rows[key][:2]) for key in keys if key in rows and rows[key][0] is not None]

    def do_read_up(
        self, space: str, shard: int, store: int, lower: bytes, upper: bytes, limit: int
    ) -> Rows:
        rows = sorted(self.partition(space, shard).items())
        found = [
            (key, *row[:2])
            for (number, key), row in rows
            if number == store and lower <= key < upper and row[0] is not None
        ]
        return found[:limit]

    def do_read_down(
        self, space: str, shard: int, store: int, lower: bytes, upper: bytes, limit: int
    ) -> Rows:
        return self.do_read_up(space, shard, store, lower, upper, ALWAYS)[::-1][:limit]

    def do_move_head(self, value: bytes, n: int, space: str, shard: int, _expected: int) -> Rows:
        self.partition(space, shard)[0, b"\x00"] = (value, n, ALWAYS)
        return [(True,)]

    def do_put(self, space: str, shard: int, store: int, key: bytes, value: bytes, n: int) -> Rows:
        self.partition(space, shard)[store, key] = (value, n, ALWAYS)
        return []

    def do_delete(self, space: str, shard: int, store: int, key: bytes) -> Rows:
        self.partition(space, shard).pop((store, key), None)
        return []

    def do_delete_store(self, space: str, shard: int, store: int) -> Rows:
        rows = self.partition(space, shard)
        for address in [address for address in rows if address[0] == store]:
            del rows[address]
        return []

    def do_merge_put(
        self, space: str, shard: int, store: int, key: bytes, value: bytes | None, version: int
    ) -> Rows:
        rows = self.partition(space, shard)
        if (store, key) not in rows or rows[store, key][2] < version:
            rows[store, key] = (value, 0, version)
        return []

    def do_merge_delete(self, version: int, space: str, shard: int, store: int, key: bytes) -> Rows:
        return self.do_merge_put(space, shard, store, key, None, version)

    def do_read_space(self, space: str) -> Rows:
        return [self.spaces[space]] if space in self.spaces else []

    def do_change_space(self, stores: bytes, n: int, space: str, expected: int | None) -> Rows:
        if self.spaces.get(space, (b"", None))[1] != expected:
            return [(False,)]
        self.spaces[space] = (stores, n)
        return [(True,)]

    def do_read_lease(self, name: str) -> Rows:
        return [(self.leases[name],)] if name in self.leases else []

    def do_take_lease(self, name: str, holder: bytes, _seconds: int) -> Rows:
        return [(self.leases.setdefault(name, holder) == holder,)]

    def do_renew_lease(self, _seconds: int, _new: bytes, name: str, holder: bytes) -> Rows:
        return [(self.leases.get(name) == holder,)]

    def do_release_lease(self, name: str, holder: bytes) -> Rows:
        if self.leases.get(name) != holder:
            return [(False,)]
        del self.leases[name]
        return [(True,)]

    def do_signal(self, kind: int, space: str, shard: int, mark: bytes, _seconds: int) -> Rows:
        self.signals[kind, space, shard] = mark
        return []

    def do_read_signals(self, kind: int) -> Rows:
        return [(*key[1:], mark) for key, mark in self.signals.items() if key[0] == kind]

    def do_add_chore(self, space: str, store: int) -> Rows:
        self.chores[space, store] = None
        return []

    def do_read_chores(self) -> Rows:
        return [*self.chores]

    def do_end_chore(self, space: str, store: int) -> Rows:
        self.chores.pop((space, store), None)
        return []


class PlayedLink:
    """One process's way to the cluster that is played."""

    def __init__(self, cluster: PlayedCassandra) -> None:
        self.counts = Counts()
        self.cluster = cluster

    def batch(self, statements: Iterable[Any]) -> Any:
        return list(statements)

    async def ask(self, statement: Any, profile: str) -> Rows:
        cluster = self.cluster
        batch = statement if isinstance(statement, list) else [statement]
        await asyncio.sleep(0)
        if cluster.late and cluster.random.random() < 0.5:
            cluster.carry_out(cluster.late.pop(0))
        if profile != CONDITIONAL or cluster.random.random() >= cluster.no_answer:
            rows = cluster.carry_out(batch)
            await asyncio.sleep(0)
            name, values = NAMES[batch[0][0]], batch[0][1]
            if name in _UNEVEN and profile != ONE and cluster.random.random() < cluster.uneven:
                for _ in range(cluster.random.randrange(_TURNS_MAX)):
                    await asyncio.sleep(0)
                rows = cluster.rows_unevenly(rows, name, values)
            return rows
        fate = cluster.random.choice(("request lost", "answer lost", "late"))
        if fate == "answer lost":
            cluster.carry_out(batch)
        elif fate == "late":
            cluster.late.append(batch)
        await asyncio.sleep(0)
        raise NoAnswer(fate)

    async def read(self, statement: Any, profile: str) -> Rows:
        return await self.ask(statement, profile)

    async def close(self) -> None:
        pass
