"""A comparison of costs as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.toolkit.cost.comparison import TableCosts, pattern_costs
from hashrange.toolkit.cost.prices import Prices
from hashrange.toolkit.design.model import Design


def text_of(design: Design, tables: Sequence[TableCosts], prices: Prices) -> str:
    """Return the comparison as text."""
    return "\n".join(_lines(design, tables, prices)) + "\n"


def _lines(design: Design, tables: Sequence[TableCosts], prices: Prices) -> Iterator[str]:
    for costs in tables:
        yield f"{costs.table.name}: {costs.stored.gigabytes:,.2f} GB with its indexes"
        for plan in sorted(costs.plans, key=lambda each: each.total):
            mark = "*" if plan is costs.advised else " "
            notes = [plan.detail] if plan.detail else []
            if plan.throttled > 0:
                notes.append(f"{plan.throttled:.2%} throttled")
            line = f"  {mark} {plan.name:<36}{plan.total:>12,.2f}  {'; '.join(notes)}"
            yield line.rstrip()
        yield f"  advised: {costs.advised.name}"
        yield from (f"    - {reason}" for reason in costs.reasons)
    rows = pattern_costs(design, prices)
    known = {name: sum(each) for name, each in rows.items() if each is not None}
    yield "patterns, on demand, a month:"
    for name, cost in sorted(known.items(), key=lambda row: -row[1]):
        yield f"    {name:<36}{cost:>12,.2f}"
    unknown = [name for name, each in rows.items() if each is None]
    if unknown:
        yield f"    without a declared rate: {', '.join(unknown)}"
    yield (
        f"{prices.currency} per month of 730 hours, {prices.region}, prices of {prices.as_of}, "
        "without the free tier"
    )


def json_of(design: Design, tables: Sequence[TableCosts], prices: Prices) -> str:
    """Return the comparison as a JSON document."""
    document = {
        "design": design.name,
        "prices": {"region": prices.region, "as_of": prices.as_of, "currency": prices.currency},
        "tables": {costs.table.name: _table(costs) for costs in tables},
        "patterns": {
            name: None if each is None else {"read": each[0], "write": each[1]}
            for name, each in pattern_costs(design, prices).items()
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _table(costs: TableCosts) -> dict[str, Any]:
    return {
        "gigabytes": costs.stored.gigabytes,
        "advised": costs.advised.name,
        "reasons": list(costs.reasons),
        "plans": {
            plan.name: {
                "throughput": plan.throughput,
                "storage": plan.storage,
                "total": plan.total,
                "throttled": plan.throttled,
                "detail": plan.detail,
            }
            for plan in costs.plans
        },
    }
