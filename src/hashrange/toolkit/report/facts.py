"""What a report shows, computed once: findings, units, costs, sample items, a simulated day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, final

from hashrange.toolkit.checker.check import Verdict, check_design
from hashrange.toolkit.cost.comparison import TableCosts, compare_tables, pattern_costs
from hashrange.toolkit.cost.consumption import Consumption, estimate
from hashrange.toolkit.cost.prices import Prices
from hashrange.toolkit.cost.series import declared_series
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Index, Table
from hashrange.toolkit.execution.items import stored_item
from hashrange.toolkit.rehearsal.population import PADDING, Population
from hashrange.toolkit.rehearsal.samples import BEGINNING
from hashrange.toolkit.simulate.run import Scenario, StoreRun, simulate

SAMPLE_ITEMS: Final = 12
SAMPLES_PER_COLLECTION: Final = 3
DAY: Final = Scenario("day", minutes=24)
"""A day in 24 minutes: an hour of it is a minute of the simulation."""


@final
@dataclass(frozen=True)
class Facts:
    """Everything about a design that a report shows."""

    design: Design
    verdict: Verdict
    units: Mapping[str, Consumption]
    costs: tuple[TableCosts, ...]
    pattern_costs: Mapping[str, tuple[float, float] | None]
    runs: Mapping[str, StoreRun]
    population: Population
    prices: Prices
    made_on: date

    @property
    def monthly(self) -> float:
        """The monthly cost of all tables with the advised plans."""
        return sum(costs.advised.total for costs in self.costs)

    def entity_number(self, entity: Entity[Any]) -> int:
        """Return the number of an entity, for its colour."""
        return [each.name for each in self.design.entities].index(entity.name)


def gather(design: Design, prices: Prices, today: date) -> Facts:
    """Return the facts about a design."""
    return Facts(
        design,
        check_design(design, today),
        estimate(design),
        tuple(compare_tables(design, declared_series(design), prices)),
        pattern_costs(design, prices),
        simulate(design, DAY),
        Population(design, SAMPLE_ITEMS),
        prices,
        today,
    )


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A sample item of an entity as it is stored."""

    entity: Entity[Any]
    item: Mapping[str, Any]


def sample_rows(facts: Facts, table: Table, index: Index | None = None) -> list[Row]:
    """Return sample items of a table or index, sorted by their key, a few per collection."""
    holder = index or table
    keys = [key.name for key in holder.key_attributes]
    found: list[Row] = []
    for entity in facts.design.entities_of(table.name):
        taken: dict[str, int] = {}
        for record in facts.population.records[entity.name]:
            item = stored_item(entity, table, record, BEGINNING)
            item.pop(PADDING, None)
            if any(name not in item for name in keys):
                continue
            key = str(item[keys[0]])
            taken[key] = taken.get(key, 0) + 1
            if len(taken) <= 2 and taken[key] <= SAMPLES_PER_COLLECTION:
                found.append(Row(entity, item))
    return sorted(found, key=lambda row: tuple(str(row.item[name]) for name in keys))
