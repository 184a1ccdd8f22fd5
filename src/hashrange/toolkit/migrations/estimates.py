"""What a back-fill will cost and how long it will take, from what the service says of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Prices:
    """On-demand prices in US dollars per million request units; by default those of us-east-1."""

    read_million: float = 0.125
    write_million: float = 0.625


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """Units, time and money of a back-fill. The service renews its counts every six hours or so."""

    items: int
    table_bytes: int
    read_units: float
    write_units: int
    seconds: float
    dollars: float

    def __str__(self) -> str:
        return (
            f"{self.items} items, {self.table_bytes} bytes: {self.read_units:.0f} read units, "
            f"{self.write_units} write units, {self.seconds:.0f} s, ${self.dollars:.2f}"
        )


def estimate_of(
    table: Mapping[str, Any], changed_share: float, writes_per_second: float, prices: Prices
) -> Estimate:
    """Return the estimate for a description of a table, if a share of its items changes.

    A changed item costs its own write units, and those of every global index: at most two writes
    each, as an index entry may be deleted and put.
    """
    items, size = int(table.get("ItemCount", 0)), int(table.get("TableSizeBytes", 0))
    average = size / items if items else 0.0
    per_item = max(1, ceil(average / 1024))
    indexes = len(table.get("GlobalSecondaryIndexes", []))
    writes = ceil(items * changed_share) * per_item * (1 + 2 * indexes)
    reads = ceil(size / 4096) * 1.0
    dollars = reads / 1e6 * prices.read_million + writes / 1e6 * prices.write_million
    own_writes = ceil(items * changed_share) * per_item
    return Estimate(items, size, reads, writes, own_writes / writes_per_second, dollars)
