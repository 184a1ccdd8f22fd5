"""The results of a rehearsal as text and as JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from hashrange.toolkit.rehearsal.rehearse import PatternResult, Rehearsal

_HEADINGS: Final = (
    "pattern", "operation", "calls", "requests", "examined", "returned", "read units",
    "write units", "p50 ms", "p95 ms", "$/month",
)  # fmt: skip


def text_of(rehearsal: Rehearsal) -> str:
    """Return a table of all patterns, averages per call, and what failed."""
    rows = [_HEADINGS, *(_row(result) for result in rehearsal.results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    failed = [result for result in rehearsal.results if result.problems]
    for result in failed:
        lines += [f"FAILED {result.pattern.name}: {problem}" for problem in result.problems]
    verdict = f"{len(failed)} failed" if failed else "all within their budgets"
    count = len(rehearsal.results)
    lines.append(
        f"{rehearsal.design.name}: {count} patterns on {rehearsal.items:,} items, {verdict}"
    )
    return "\n".join(lines) + "\n"


def json_of(rehearsal: Rehearsal) -> str:
    """Return the results as a JSON document."""
    document = {
        "design": rehearsal.design.name,
        "items": rehearsal.items,
        "holds": rehearsal.holds,
        "patterns": {result.pattern.name: _document(result) for result in rehearsal.results},
    }
    return json.dumps(document, indent=2) + "\n"


def _row(result: PatternResult) -> tuple[str, ...]:
    cost = result.monthly_cost
    return (
        result.pattern.name,
        result.pattern.operation,
        f"{len(result.readings)}",
        f"{result.average('requests'):.1f}",
        f"{result.average('examined'):.1f}",
        f"{result.average('returned'):.1f}",
        f"{result.average('read_units'):.1f}",
        f"{result.average('write_units'):.1f}",
        f"{result.latency_ms(50):.2f}",
        f"{result.latency_ms(95):.2f}",
        "-" if cost is None else f"{cost:,.2f}",
    )


def _document(result: PatternResult) -> dict[str, Any]:
    names = ("requests", "examined", "returned", "read_units", "write_units")
    return {
        "operation": result.pattern.operation,
        "calls": len(result.readings),
        "refused": result.refused,
        "average": {name: result.average(name) for name in names},
        "most": {name: result.most(name) for name in names},
        "latency_ms": {"p50": result.latency_ms(50), "p95": result.latency_ms(95)},
        "monthly_cost": result.monthly_cost,
        "problems": list(result.problems),
    }
