"""What live traffic says against a design, as findings in words.

`Remark.kind` is one of: uncalled, undeclared, scan, hot-key, waste, unused-index, throttled, rate,
budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from hashrange.toolkit.watch.analysis import WASTE_SHARE, Traffic, Usage


@final
@dataclass(frozen=True, slots=True)
class Remark:
    """Something in live traffic that the design does not expect."""

    kind: str
    subject: str
    message: str


def remarks_of(traffic: Traffic) -> list[Remark]:
    """Return all remarks on traffic."""
    return [
        *_undeclared(traffic),
        *_of_patterns(traffic),
        *(
            Remark(
                "hot-key",
                f"pattern:{pattern}",
                f"key {key!r} gets {share:.0%} of the requests to {store}",
            )
            for store, key, share, pattern in traffic.hot_keys
        ),
        *(
            Remark("unused-index", f"index:{store}", "nobody reads it")
            for store in traffic.unused_indexes
        ),
        *(Remark("uncalled", f"pattern:{name}", "nobody calls it") for name in traffic.uncalled),
    ]


def _undeclared(traffic: Traffic) -> Iterator[Remark]:
    for (operation, target), usage in traffic.undeclared.items():
        where = f"{target.table}.{target.index}" if target.index else target.table
        sample = traffic.samples[(operation, target)]
        like = f", for example for key {sample!r}" if sample else ""
        kind = "scan" if operation == "Scan" else "undeclared"
        yield Remark(
            kind,
            f"table:{target.table}",
            f"{operation} on {where}: {usage.requests:,} requests that no pattern declares{like}",
        )


def _of_patterns(traffic: Traffic) -> Iterator[Remark]:
    for name, usage in traffic.patterns.items():
        pattern = traffic.design.pattern(name)
        subject = f"pattern:{name}"
        if pattern.operation == "scan" and pattern.production:
            yield Remark("scan", subject, f"{usage.requests:,} scans")
        if usage.throttled:
            share = usage.throttled / usage.requests
            yield Remark("throttled", subject, f"{share:.1%} of its requests are throttled")
        if usage.wasted >= WASTE_SHARE:
            yield Remark("waste", subject, f"{usage.wasted:.0%} of the items it reads are dropped")
        rate, declared = traffic.rate(usage), pattern.rate
        if declared is not None and rate > 1.2 * (declared.peak or declared.average):
            peak = declared.peak or declared.average
            yield Remark("rate", subject, f"{rate:,.1f} requests per second, {peak:g} are declared")
        yield from _over_budget(name, usage, traffic)


def _over_budget(name: str, usage: Usage, traffic: Traffic) -> Iterator[Remark]:
    budget = traffic.design.pattern(name).budget
    served = usage.requests - usage.throttled - usage.errors
    if served <= 0:
        return
    for what, total, allowed in (
        ("read units", usage.read_units, budget.read_units),
        ("write units", usage.write_units, budget.write_units),
        ("items examined", float(usage.examined), budget.items_examined),
    ):
        if allowed is not None and total / served > allowed:
            yield Remark(
                "budget",
                f"pattern:{name}",
                f"{total / served:,.2f} {what} per request, the budget allows {allowed:g}",
            )
