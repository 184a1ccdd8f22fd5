"""Runs the load of a design against the capacity model, second by second."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final, final

from hashrange.capacity.key_ranges import HEAT_SECONDS, Split
from hashrange.capacity.stores import PartitionedStore, Provided, initial_partitions
from hashrange.toolkit.cost.comparison import storage_of
from hashrange.toolkit.cost.consumption import estimate
from hashrange.toolkit.cost.traffic import stores_of
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Capacity
from hashrange.toolkit.simulate.load import Stream, streams_of
from hashrange.toolkit.simulate.shapes import SHAPES, calls_per_second

REQUESTS_PER_SECOND: Final = 20
"""How many requests stand for the calls of a pattern in one second."""

KEYS_SHOWN: Final = 10
CELLS: Final = 48
"""Into how many equal parts the hash range is cut to show where the heat is."""

GIGABYTE: Final = 1024**3


@final
@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated: a load shape, its length, and a factor on all rates.

    `partitions` is how many each store begins with: 0 lets capacity and size decide, as for a new
    table; more stand for a table that was warmed up.
    """

    shape: str = "spike"
    minutes: int = 30
    times: float = 1.0
    partitions: int = 0
    heat_seconds: float = HEAT_SECONDS
    seed: int = 1


@final
@dataclass(slots=True)
class Minute:
    """Units of one minute: asked for, throttled by partition or store, and where in the hash range.

    `cells` has the units asked for in each part of the hash range.
    """

    demanded: float = 0.0
    by_partition: float = 0.0
    by_store: float = 0.0
    cells: list[float] = field(default_factory=lambda: [0.0] * CELLS)


@final
@dataclass
class StoreRun:
    """What happened to a store."""

    name: str
    store: PartitionedStore
    partitions_before: int
    minutes: list[Minute]
    keys: Counter[str] = field(default_factory=Counter)
    throttled_keys: Counter[str] = field(default_factory=Counter)
    patterns: Counter[str] = field(default_factory=Counter)
    throttled_patterns: Counter[str] = field(default_factory=Counter)

    @property
    def demanded(self) -> float:
        return sum(minute.demanded for minute in self.minutes)

    @property
    def throttled(self) -> float:
        return sum(minute.by_partition + minute.by_store for minute in self.minutes)

    @property
    def throttled_share(self) -> float:
        return self.throttled / self.demanded if self.demanded else 0.0

    @property
    def splits(self) -> list[Split]:
        return self.store.splits


def simulate(design: Design, scenario: Scenario) -> dict[str, StoreRun]:
    """Return what happens to each store of a design that has traffic."""
    streams = [
        stream
        for consumption in estimate(design).values()
        if consumption.pattern.rate is not None
        for stream in streams_of(design, consumption)
    ]
    runs = {
        name: _new_run(design, name, scenario)
        for name in stores_of(design)
        if any(stream.store == name for stream in streams)
    }
    random = Random(scenario.seed)
    for second in range(scenario.minutes * 60):
        for stream in streams:
            _send(runs[stream.store], stream, scenario, second, random)
        for run in runs.values():
            run.store.advance(float(second + 1))
    return runs


def _new_run(design: Design, name: str, scenario: Scenario) -> StoreRun:
    table_name, _, index = name.partition(".")
    table = design.table(table_name)
    capacity = table.index(index).capacity if index else None
    provided = provided_by(capacity or table.capacity)
    size = storage_of(design, table).gigabytes * GIGABYTE / (1 + len(table.indexes))
    count = scenario.partitions or initial_partitions(provided, size)
    store = PartitionedStore(provided, count, heat_seconds=scenario.heat_seconds)
    return StoreRun(name, store, count, [Minute() for _ in range(scenario.minutes)])


def provided_by(capacity: Capacity) -> Provided:
    """Return the rates of a capacity mode. Automatic scaling is too slow to count in minutes."""
    if capacity.mode == "provisioned":
        return Provided(float(capacity.read_units), float(capacity.write_units))
    read, write = float(capacity.read_units) or None, float(capacity.write_units) or None
    return Provided(read, write, is_on_demand=True)


def _send(run: StoreRun, stream: Stream, scenario: Scenario, second: int, random: Random) -> None:
    rate = stream.pattern.rate
    assert rate is not None
    share = second / (scenario.minutes * 60)
    calls = calls_per_second(rate, SHAPES[scenario.shape], share, scenario.times)
    total = calls * stream.units
    if total <= 0:
        return
    # Few calls are sent as they are, now and then; many are sent in equal parts.
    count = REQUESTS_PER_SECOND if calls >= REQUESTS_PER_SECOND else int(calls)
    if random.random() < calls - int(calls) and calls < REQUESTS_PER_SECOND:
        count += 1
    if count == 0:
        return
    units = total / count if calls >= REQUESTS_PER_SECOND else stream.units
    minute = run.minutes[second // 60]
    for number in range(count):
        now = second + number / count
        key, position = stream.keys.draw(random, now)
        outcome = run.store.request(position, stream.kind, units, now)
        minute.demanded += units
        minute.cells[min(CELLS - 1, int(position[0] * CELLS))] += units
        run.keys[key] += round(units * 1000)
        run.patterns[stream.pattern.name] += round(units * 1000)
        if outcome != "admitted":
            run.throttled_keys[key] += round(units * 1000)
            run.throttled_patterns[stream.pattern.name] += round(units * 1000)
            if outcome == "partition":
                minute.by_partition += units
            else:
                minute.by_store += units
