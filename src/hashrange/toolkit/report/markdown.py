"""The report as Markdown, for repositories and reviews."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.report.facts import Facts


def markdown_of(facts: Facts) -> str:
    """Return the report as a Markdown document."""
    return "\n".join(_lines(facts)) + "\n"


def _lines(facts: Facts) -> Iterator[str]:
    design = facts.design
    yield f"# {design.name}"
    if design.description:
        yield f"\n{design.description}"
    counts = ", ".join(f"{facts.verdict.count(kind)} {kind}s" for kind in ("error", "warning"))
    yield f"\n{len(design.patterns)} access patterns; {counts}; ${facts.monthly:,.2f} a month."
    for table in design.tables:
        yield f"\n## {table.name}\n"
        yield from _keys(facts, table)
    yield "\n## Access patterns\n"
    yield from _patterns(facts)
    yield "\n## Costs\n"
    yield from _costs(facts)
    yield "\n## Findings\n"
    yield from _findings(facts)
    prices = facts.prices
    yield f"\nMade on {facts.made_on.isoformat()}; prices of {prices.region}, {prices.as_of}."


def _keys(facts: Facts, table: Table) -> Iterator[str]:
    keys = table.all_key_attributes
    rows = []
    for entity in facts.design.entities_of(table.name):
        cells = [entity.name]
        for key in keys:
            template = entity.template(key.name)
            cells.append(f"`{template.text}`" if template else "")
        rows.append(cells)
    yield from _table(["entity", *(key.name for key in keys)], rows)


def _patterns(facts: Facts) -> Iterator[str]:
    rows = []
    for pattern in facts.design.patterns:
        units, cost = facts.units[pattern.name], facts.pattern_costs[pattern.name]
        where = ", ".join(facts.design.tables_of(pattern))
        rows.append(
            [
                pattern.name,
                pattern.operation,
                f"{where}.{pattern.index}" if pattern.index else where,
                f"{units.read_units:g}",
                f"{units.write_units:g}",
                "" if pattern.rate is None else f"{pattern.rate.average:g}",
                "" if cost is None else f"{sum(cost):,.2f}",
                pattern.description,
            ]
        )
    head = ["pattern", "operation", "on", "read units", "write units", "calls/s", "$/month", ""]
    yield from _table(head, rows)


def _costs(facts: Facts) -> Iterator[str]:
    rows = []
    for costs in facts.costs:
        for plan in sorted(costs.plans, key=lambda each: each.total):
            name = f"**{plan.name}**" if plan is costs.advised else plan.name
            rows.append([costs.table.name, name, f"{plan.total:,.2f}", f"{plan.throttled:.1%}"])
    yield from _table(["table", "plan", "$/month", "throttled"], rows)


def _findings(facts: Facts) -> Iterator[str]:
    rows = [
        [
            "waived" if finding.waiver else finding.severity,
            f"`{finding.rule.id}`",
            finding.subject,
            finding.message,
            finding.waiver.reason if finding.waiver else finding.rule.mend,
        ]
        for finding in (*facts.verdict.findings, *facts.verdict.waived)
    ]
    if rows:
        yield from _table(["severity", "rule", "subject", "finding", "mend"], rows)
    else:
        yield "None."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
