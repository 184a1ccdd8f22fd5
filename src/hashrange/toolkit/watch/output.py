"""What watching found, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from hashrange.toolkit.cost.prices import SECONDS_PER_MONTH, Prices
from hashrange.toolkit.watch.analysis import Traffic
from hashrange.toolkit.watch.remarks import Remark


def text_of(traffic: Traffic, remarks: Sequence[Remark], prices: Prices) -> str:
    """Return traffic and remarks as text."""
    return "\n".join(_lines(traffic, remarks, prices)) + "\n"


def _lines(traffic: Traffic, remarks: Sequence[Remark], prices: Prices) -> Iterator[str]:
    total = sum(usage.requests for usage in traffic.patterns.values())
    strangers = sum(usage.requests for usage in traffic.undeclared.values())
    yield (
        f"{traffic.design.name}: {total:,} requests of declared patterns, {strangers:,} others, "
        f"in {traffic.seconds:,.0f} seconds"
    )
    yield f"{'pattern':<28}{'requests':>10}{'per s':>9}{'reads':>9}{'writes':>9}{'dropped':>9}"
    for pattern in traffic.design.patterns:
        usage = traffic.patterns.get(pattern.name)
        if usage is not None:
            yield (
                f"{pattern.name:<28}{usage.requests:>10,}{traffic.rate(usage):>9,.1f}"
                f"{usage.read_units:>9,.1f}{usage.write_units:>9,.1f}{usage.wasted:>9.0%}"
            )
    for store, cost in index_costs(traffic, prices).items():
        reads, writes = traffic.index_reads[store] / 1000, traffic.index_writes[store] / 1000
        money = f", writes cost ${cost:,.2f} a month" if traffic.seconds else ""
        yield f"index {store}: {reads:,.1f} read units, {writes:,.1f} write units{money}"
    for remark in remarks:
        yield f"{remark.kind:<13} {remark.subject}: {remark.message}"
    if not remarks:
        yield "the traffic is as declared"


def index_costs(traffic: Traffic, prices: Prices) -> dict[str, float]:
    """Return what the writes to each index would cost in a month at this rate, on demand."""
    months = traffic.seconds / SECONDS_PER_MONTH
    found = {}
    for table in traffic.design.tables:
        for index in table.indexes:
            if index.kind == "global":
                store = f"{table.name}.{index.name}"
                cost = prices.request_cost(0, traffic.index_writes[store] / 1000, table.table_class)
                found[store] = cost / months if months else 0.0
    return found


def json_of(traffic: Traffic, remarks: Sequence[Remark], prices: Prices) -> str:
    """Return traffic and remarks as a JSON document."""
    costs = index_costs(traffic, prices)
    document = {
        "design": traffic.design.name,
        "seconds": traffic.seconds,
        "patterns": {name: asdict(usage) for name, usage in traffic.patterns.items()},
        "undeclared": [
            {"operation": operation, "table": target.table, "index": target.index, **asdict(usage)}
            for (operation, target), usage in traffic.undeclared.items()
        ],
        "indexes": {
            store: {
                "read_units": traffic.index_reads[store] / 1000,
                "write_units": traffic.index_writes[store] / 1000,
                "monthly_write_cost": cost,
            }
            for store, cost in costs.items()
        },
        "remarks": [asdict(remark) for remark in remarks],
    }
    return json.dumps(document, indent=2) + "\n"


def remarks_text(name: str, remarks: Sequence[Remark]) -> str:
    """Return remarks alone as text."""
    lines = [f"{remark.kind:<13} {remark.subject}: {remark.message}" for remark in remarks]
    return "\n".join([*lines, f"{name}: {len(remarks)} remarks"]) + "\n"


def remarks_json(name: str, remarks: Sequence[Remark]) -> str:
    """Return remarks alone as a JSON document."""
    document = {"design": name, "remarks": [asdict(remark) for remark in remarks]}
    return json.dumps(document, indent=2) + "\n"
