"""What a design expects of its data and its traffic, and what it allows: rates, volumes, budgets.

Every number is optional. A checker that needs one and finds none says so, or uses a default of its
own; nothing here is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal, final

Growth = Literal["bounded", "unbounded"]


@final
@dataclass(frozen=True, slots=True)
class Rate:
    """How often an access pattern is called.

    `average` and `peak` are calls per second; without `peak`, the peak is the average.
    `hottest_share` is the share (0 to 1) of the calls that go to the most used partition key value;
    None means that calls spread evenly.
    """

    average: float
    peak: float | None = None
    hottest_share: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Volume:
    """How much data an entity has.

    `items` is the expected number of items of the entity in all, `item_bytes` the average and
    `item_bytes_max` the largest size of one in DynamoDB's counting. `collection_items` is the
    average and `collection_items_max` the largest number of items of this entity that share a
    partition key value. `growth` says whether that number has an end. `items_per_day` are the items
    added per day.
    """

    items: int | None = None
    item_bytes: int | None = None
    item_bytes_max: int | None = None
    collection_items: int | None = None
    collection_items_max: int | None = None
    growth: Growth = "bounded"
    items_per_day: float | None = None


NO_VOLUME = Volume()


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """What one call of an access pattern may cost at most; None sets no bound.

    `read_units` and `write_units` are capacity units per call, `items_examined` the items read
    per call before filters, `requests` the API calls behind one call of the pattern,
    `latency_ms` the 95th percentile on the test database, `monthly_cost` US dollars per month at
    the declared average rate.
    """

    read_units: float | None = None
    write_units: float | None = None
    items_examined: int | None = None
    requests: int | None = None
    latency_ms: float | None = None
    monthly_cost: float | None = None


NO_BUDGET = Budget()


@final
@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that the authors of the design accept, with the reason.

    `rule` is the id of the checker's rule. `subject` says where it is accepted: `table:Shop`,
    `index:Shop.GSI1`, `entity:order`, `attribute:order.total`, `pattern:user_orders`, or an empty
    text for the whole design. After `until`, the waiver no longer counts.
    """

    rule: str
    reason: str
    subject: str = ""
    until: date | None = None
