"""The SQLite engine does what the memory engine does, whatever the sequence of calls."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hashrange.engine.base import Changes, Engine, Fence
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from tests.engine.decisions import SHARD, Rows, Write
from tests.engine.reading import page, tally

STORES = ("a", "a.x", "b", "b.x")
SPACES = ("a", "b")
VALUE_BYTES_KEPT = 6000

stores = st.sampled_from(STORES)
spaces = st.sampled_from(SPACES)
versions = st.integers(0, 6)
keys = st.one_of(st.sampled_from([b"", b"k", b"k\x00", b"\xff"]), st.binary(max_size=3))
values = st.one_of(st.binary(max_size=4), st.sampled_from([b"x" * 5000]))


class Refused(Exception):
    pass


class Plan:
    """A decision as plain values, so that a failing example can be read."""

    def __init__(self, parts: Sequence[tuple[Any, ...]], reads: list[tuple[str, bytes]]) -> None:
        self.parts = parts
        self.reads = reads

    def __repr__(self) -> str:
        return f"Plan({self.parts!r}, {self.reads!r})"

    def decision(self, fences: Sequence[Fence] = ()) -> Write:
        return Write(self._decide, [(store, SHARD, key) for store, key in self.reads], fences)

    def _decide(self, rows: Rows) -> Changes:
        seen = b"".join(row or b"-" for row in rows)
        changes = Changes(seen)
        for name, *arguments in self.parts:
            if name == "refuse":
                raise Refused(seen)
            if name == "put":
                store, key, value = arguments
                changes.puts.append((store, SHARD, key, (value + seen)[:VALUE_BYTES_KEPT]))
            elif name in ("deletes", "appends"):
                getattr(changes, name).append((arguments[0], SHARD, *arguments[1:]))
            elif name == "announce":
                changes.is_announced = True
            else:
                getattr(changes, str(name)).append(
                    arguments[0] if len(arguments) == 1 else tuple(arguments)
                )
        return changes


part = st.one_of(
    st.tuples(st.just("put"), stores, keys, values),
    st.tuples(st.just("put"), stores, keys, values),
    st.tuples(st.just("put"), stores, keys, values),
    st.tuples(st.just("deletes"), stores, keys),
    st.tuples(st.just("deletes"), stores, keys),
    st.tuples(st.just("tallies"), stores, st.integers(-9, 9), st.integers(-99, 99)),
    st.tuples(st.just("appends"), stores, keys, values),
    st.tuples(st.just("creates"), stores),
    st.tuples(st.just("drops"), stores),
    st.tuples(st.just("fences"), spaces, versions),
    st.tuples(st.just("announce")),
    st.tuples(st.just("refuse")),
)
plans = st.builds(
    Plan, st.lists(part, max_size=5), st.lists(st.tuples(stores, keys), min_size=1, max_size=3)
)
fences = st.lists(st.tuples(spaces, versions), max_size=2)


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.lock = acquire_directory(self.directory.name)
        self.runner = asyncio.Runner()
        self.memory = MemoryEngine()
        self.sqlite = SqliteEngine.open(self.directory.name, durability="relaxed")
        for engine in (self.memory, self.sqlite):
            created = Plan([("creates", "a"), ("creates", "b")], [("a", b"")])
            self.runner.run(engine.write(created.decision()))

    def teardown(self) -> None:
        self.runner.run(self.sqlite.close())
        self.runner.close()
        self.lock.release()
        self.directory.cleanup()

    @rule(planned=st.lists(st.tuples(plans, fences), min_size=1, max_size=6))
    def write_together(self, planned: list[tuple[Plan, list[Fence]]]) -> None:
        async def write(engine: Engine) -> list[object]:
            writes = [engine.write(plan.decision(fences)) for plan, fences in planned]
            return await asyncio.gather(*writes, return_exceptions=True)

        expected = self.runner.run(write(self.memory))
        answered = self.runner.run(write(self.sqlite))
        assert [described(answer) for answer in answered] == [
            described(answer) for answer in expected
        ]

    @rule(
        store=stores,
        lower=keys,
        upper=keys,
        reverse=st.booleans(),
        rows_max=st.integers(1, 4),
        bytes_max=st.sampled_from([1, 5, 100, 10_000]),
    )
    def range(
        self, store: str, lower: bytes, upper: bytes, reverse: bool, rows_max: int, bytes_max: int
    ) -> None:
        async def read(engine: Engine) -> object:
            return await page(
                engine,
                store,
                lower=lower,
                upper=upper,
                reverse=reverse,
                rows_max=rows_max,
                bytes_max=bytes_max,
            )

        assert self.runner.run(read(self.sqlite)) == self.runner.run(read(self.memory))

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.sqlite.close())
        self.lock.release()
        self.lock = acquire_directory(self.directory.name)
        self.sqlite = SqliteEngine.open(self.directory.name, durability="relaxed")

    @invariant()
    def everything_is_the_same(self) -> None:
        async def content(engine: Engine) -> list[object]:
            found: list[object] = [engine.counter()]
            for store in STORES:
                found.append(await tally(engine, store))
                found.append(await page(engine, store))
            return found

        assert self.runner.run(content(self.sqlite)) == self.runner.run(content(self.memory))


def described(answer: object) -> object:
    if isinstance(answer, Refused):
        return ("Refused", answer.args)
    return type(answer) if isinstance(answer, Exception) else answer


TestAgainstMemory = Machine.TestCase
TestAgainstMemory.settings = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
