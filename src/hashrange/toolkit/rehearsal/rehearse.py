"""Creates the tables of a design, loads generated items, runs every pattern, compares budgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any, Final, final

from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.pages import Pages
from hashrange.toolkit.client.plans import Call
from hashrange.toolkit.client.retries import DEFAULT_POLICY, attempt
from hashrange.toolkit.cost.prices import SECONDS_PER_MONTH, Prices, load_prices
from hashrange.toolkit.design.expectations import Budget
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.errors import (
    ConditionFailed,
    DesignError,
    NotFound,
    RequestRefused,
    ToolkitError,
    TransactionFailed,
)
from hashrange.toolkit.execution.executor import Binding
from hashrange.toolkit.execution.items import stored_item
from hashrange.toolkit.rehearsal.arguments import Arguments
from hashrange.toolkit.rehearsal.meter import Meter, Reading
from hashrange.toolkit.rehearsal.population import Population

ITEMS_MAX_DEFAULT: Final = 500
CALLS_DEFAULT: Final = 20
_REFUSALS: Final = (ConditionFailed, NotFound, TransactionFailed)
_ORDER: Final = ("get", "query", "scan", "batch_get", "transact_get", "update", "create", "put")


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How a rehearsal is done.

    `items_max` bounds the items per entity, `calls` is the number of calls per pattern. `given`
    has arguments by the names of patterns, where generated ones do not fit. With a `prefix`, the
    tables are created under other names and deleted afterwards: for services that hold other data.
    """

    items_max: int = ITEMS_MAX_DEFAULT
    calls: int = CALLS_DEFAULT
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prices: Prices = field(default_factory=load_prices)
    timer: Callable[[], float] = time.perf_counter
    prefix: str = ""


@final
@dataclass(frozen=True)
class PatternResult:
    """What the calls of a pattern took.

    `refused` counts calls whose condition did not hold, which generated data cannot always avoid;
    a pattern fails if that is all of them. `failures` are other errors.
    """

    pattern: AccessPattern
    readings: tuple[Reading, ...]
    latencies: tuple[float, ...]
    monthly_cost: float | None
    failures: tuple[str, ...] = ()
    refused: int = 0

    def average(self, name: str) -> float:
        """Return the average of a count per call: requests, examined, read_units and so on."""
        return mean(getattr(each, name) for each in self.readings) if self.readings else 0.0

    def most(self, name: str) -> float:
        """Return the largest count of any call."""
        return max((getattr(each, name) for each in self.readings), default=0.0)

    def latency_ms(self, percent: int) -> float:
        """Return a percentile of the latency in milliseconds."""
        ordered = sorted(self.latencies)
        position = max(0, -(-len(ordered) * percent // 100) - 1)
        return ordered[position] * 1000 if ordered else 0.0

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the pattern fails: errors, then exceeded budgets."""
        none = ("the condition of no call held: give arguments",) if self.refused else ()
        return (*self.failures, *(none if not self.readings else ()), *_exceeded(self))


@final
@dataclass(frozen=True)
class Rehearsal:
    """The results of all patterns."""

    design: Design
    results: tuple[PatternResult, ...]
    items: int

    @property
    def holds(self) -> bool:
        return not any(result.problems for result in self.results)


def rehearse(design: Design, client: Any, settings: Settings) -> Rehearsal:
    """Run every pattern of a design against the service behind a boto3 client.

    Reads come first and deletes last, so that no pattern takes away what another one needs.
    """
    meter = Meter(client)
    names = {table.name: f"{settings.prefix}{table.name}" for table in design.tables}
    bound = BoundDesign(_unprotected(design), meter, Binding(names=names))
    try:
        bound.create_tables()
        population = Population(design, settings.items_max)
        items = load(bound, population)
        arguments = Arguments(design, population)
        results = {
            pattern.name: _run(bound, meter, pattern, arguments, settings)
            for pattern in sorted(design.patterns, key=_turn)
        }
    finally:
        if settings.prefix:
            _delete_tables(bound, names.values())
    return Rehearsal(design, tuple(results[each.name] for each in design.patterns), items)


def _unprotected(design: Design) -> Design:
    """Return a design whose tables may be deleted."""
    tables = tuple(replace(table, deletion_protection=False) for table in design.tables)
    return replace(design, tables=tables)


def _delete_tables(bound: BoundDesign, names: Iterable[str]) -> None:
    for name in names:
        try:
            bound.driver.run(attempt(Call("delete_table", {"TableName": name}), DEFAULT_POLICY))
        except RequestRefused as error:
            if error.code != "ResourceNotFoundException":
                raise


def load(bound: BoundDesign, population: Population) -> int:
    """Write the generated items; return how many there are."""
    design, now = bound.design, bound.executor.binding.clock()
    count = 0
    for table in design.tables:
        items = []
        for entity in design.entities_of(table.name):
            for record in population.records[entity.name]:
                item = stored_item(entity, table, record, now)
                if entity.version:
                    item[entity.version] = 1
                items.append(item)
        try:
            bound.table(table.name).batch_write(items)
        except RequestRefused as error:
            raise DesignError(f"items of {table.name} are refused: {error}") from error
        count += len(items)
    return count


def _turn(pattern: AccessPattern) -> int:
    return (
        _ORDER.index(pattern.operation)
        if pattern.operation in _ORDER
        else (len(_ORDER) + (pattern.operation == "delete"))
    )


def _run(
    bound: BoundDesign,
    meter: Meter,
    pattern: AccessPattern,
    arguments: Arguments,
    settings: Settings,
) -> PatternResult:
    readings: list[Reading] = []
    latencies: list[float] = []
    failures: dict[str, None] = {}
    refused = 0
    for n in range(settings.calls):
        given = {**arguments.of(pattern, n), **settings.given.get(pattern.name, {})}
        meter.reset()
        started = settings.timer()
        try:
            result = bound.call(pattern, (), given)
            if isinstance(result, Pages):
                list(result)
        except _REFUSALS:
            refused += 1
            continue
        except ToolkitError as error:
            failures[f"{type(error).__name__}: {error}"] = None
            continue
        latencies.append(settings.timer() - started)
        readings.append(meter.reading)
    cost = _monthly_cost(bound.design, pattern, readings, settings.prices)
    taken = (tuple(readings), tuple(latencies))
    return PatternResult(pattern, *taken, cost, tuple(failures), refused)


def _monthly_cost(
    design: Design, pattern: AccessPattern, readings: Sequence[Reading], prices: Prices
) -> float | None:
    if pattern.rate is None or not readings:
        return None
    calls = pattern.rate.average * SECONDS_PER_MONTH
    table = design.table(design.tables_of(pattern)[0])
    return prices.request_cost(
        calls * mean(each.read_units for each in readings),
        calls * mean(each.write_units for each in readings),
        table.table_class,
    )


def _exceeded(result: PatternResult) -> list[str]:
    budget: Budget = result.pattern.budget
    measured: dict[str, float | None] = {
        "read_units": result.most("read_units"),
        "write_units": result.most("write_units"),
        "items_examined": result.most("examined"),
        "requests": result.most("requests"),
        "latency_ms": result.latency_ms(95),
        "monthly_cost": result.monthly_cost,
    }
    return [
        f"{name} is {value:,.4g}, the budget allows {allowed:,.4g}"
        for name, value in measured.items()
        if value is not None and (allowed := getattr(budget, name)) is not None and value > allowed
    ]
