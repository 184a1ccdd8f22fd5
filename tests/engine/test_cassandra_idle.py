"""A process of a cluster sends few statements while nothing happens, and notices when it does."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from hashrange.clock import VirtualClock
from hashrange.engine.base import STRONG
from hashrange.engine.cassandra import signals
from hashrange.engine.cassandra.engine import CassandraEngine
from hashrange.engine.cassandra.link import Rows
from hashrange.services import transaction_recovery
from hashrange.services.transaction_recovery import TransactionRecovery
from hashrange.storage.catalog import Catalog
from hashrange.storage.ledger import LEDGER_SHARDS, LEDGER_STORES, Entry, Opening, random_name
from tests.engine.decisions import plain
from tests.harness.played_cassandra import NAMES, PlayedCassandra, PlayedLink


class Watch:
    """The monotonic clock, moved by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """Counts statements and their profiles, of all processes."""
    found: Counter[tuple[str, str]] = Counter()
    ask = PlayedLink.ask

    async def count(self: PlayedLink, statement: Any, profile: str) -> Rows:
        first = statement[0] if isinstance(statement, list) else statement
        found[NAMES[first[0]], profile] += 1
        return await ask(self, statement, profile)

    monkeypatch.setattr(PlayedLink, "ask", count)
    return found


async def announced(played: PlayedCassandra) -> CassandraEngine:
    """Return a process that has announced something."""
    engine = played.engine()
    await engine.write(plain(creates=["t"], announced=True))
    await asyncio.sleep(0)
    return engine


async def test_a_lease_of_another_is_wanted_without_a_round_of_paxos(
    sent: Counter[tuple[str, str]],
) -> None:
    played = PlayedCassandra()
    first, second = played.engine(), played.engine()
    lease = await first.lease("work", 60)
    assert lease is not None
    sent.clear()
    for _ in range(3):
        assert await second.lease("work", 60) is None
    assert sent["read_lease", "quorum"] == 3
    assert sent["take_lease", "conditional"] == 0
    await lease.release()
    assert await second.lease("work", 60) is not None
    for engine in (first, second):
        await engine.close()


async def test_heads_are_read_once_a_second_and_when_a_hint_comes(
    sent: Counter[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    played, watch = PlayedCassandra(), Watch()
    monkeypatch.setattr(signals, "monotonic", watch)
    first = await announced(played)
    second = played.engine()._signals
    await second.poll()
    await second.poll()
    seen = second.counter
    assert seen > 0
    sent.clear()
    for _ in range(10):
        watch.now += 0.09
        await second.poll()
    assert sent["read_keys", "quorum"] == 0
    watch.now += 0.2
    await second.poll()
    assert sent["read_keys", "quorum"] == 1
    assert second.counter == seen
    await first.write(plain(announced=True))
    while sent["signal", "one"] == 0:
        await asyncio.sleep(0)
    await second.poll()
    assert second.counter == seen + 1
    await first.close()


async def test_an_announcement_without_a_hint_is_found_a_second_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played, watch = PlayedCassandra(), Watch()
    monkeypatch.setattr(signals, "monotonic", watch)
    first = await announced(played)
    second = played.engine()._signals
    await second.poll()
    watch.now += 2.0
    await second.poll()
    seen = second.counter
    monkeypatch.setattr(signals.Signals, "_spawn", lambda *_: None)
    await first.write(plain(announced=True))
    await second.poll()
    assert second.counter == seen
    watch.now += 1.0
    await second.poll()
    assert second.counter == seen + 1
    await first.close()


async def test_the_ledger_is_looked_at_less_and_less_often_while_nothing_is_open(
    sent: Counter[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, clock = Watch(), VirtualClock()
    monkeypatch.setattr(transaction_recovery, "monotonic", watch)
    engine = PlayedCassandra().engine()
    await engine.write(plain(creates=[*LEDGER_STORES]))
    recovery = TransactionRecovery(engine, Catalog(engine, clock), clock)

    async def looks(seconds: int) -> Counter[str]:
        sent.clear()
        for _ in range(seconds):
            watch.now += 1.0
            await recovery.step()
        return Counter(
            {profile: count for (name, profile), count in sent.items() if name == "read_up"}
        )

    await looks(10)
    idle = await looks(60)
    assert idle["one"] + idle["serial"] <= 14 * LEDGER_SHARDS
    assert idle["serial"] == 2 * LEDGER_SHARDS  # open ones and old ones, once a minute
    entry = Entry(1, b"a" * 16, clock.now(), b"d" * 32, [])
    await engine.write(Opening(random_name(entry.attempt), entry))
    await looks(5)
    assert (await looks(10))["one"] >= 9 * LEDGER_SHARDS
    clock.advance(10)
    recovered: list[bool] = []
    recovery.recovered = recovered.append
    await looks(2)
    assert recovered == [False]
    await recovery.look(STRONG)
    await engine.close()
