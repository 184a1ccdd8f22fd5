"""The report as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hashrange.toolkit.checker.findings import Finding
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.report.charts import busiest, cost_bars, heat_map, plan_bars
from hashrange.toolkit.report.facts import Facts
from hashrange.toolkit.report.keys import (
    chip,
    collections_section,
    layout_section,
    templates_section,
)
from hashrange.toolkit.report.markup import Content, Markup, Number, element, joined, table_of
from hashrange.toolkit.report.style import STYLE

_STORES_MAX: Final = 5
"""A matrix of more tables and indexes than this would be too wide for a page."""

_HEAT_UNITS_MIN: Final = 1.0
_SECTIONS: Final = (
    ("layout", "Key layout"),
    ("templates", "Key templates"),
    ("patterns", "Access patterns"),
    ("collections", "Item collections"),
    ("heat", "Heat"),
    ("costs", "Costs"),
    ("findings", "Findings"),
)


def html_of(facts: Facts) -> str:
    """Return the report as an HTML document."""
    sections = {
        "layout": ("Generated sample items, ordered as they are stored.", layout_section(facts)),
        "templates": (
            "How keys are made from the fields of each entity.",
            templates_section(facts),
        ),
        "patterns": (
            "Which pattern uses which table or index, and what one call takes by estimate.",
            _patterns(facts),
        ),
        "collections": (
            "Items that share a partition key value, with their typical size.",
            collections_section(facts),
        ),
        "heat": (
            "Where in the hash range the requests of a simulated day arrive. An even field is "
            "healthy; a column is a hot key.",
            _heat(facts),
        ),
        "costs": (_cost_lead(facts), _costs(facts)),
        "findings": ("What the design checker says.", _findings(facts)),
    }
    body = element(
        "main",
        _header(facts),
        *(_section(name, title, *sections[name]) for name, title in _SECTIONS),
        element("footer", f"Made by hashrange design report on {facts.made_on.isoformat()}."),
    )
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{facts.design.name}: table design"),
        element("style", Markup(STYLE)),
    )
    return f"<!doctype html>\n{element('html', head, element('body', body), lang='en')}\n"


def _header(facts: Facts) -> Markup:
    design = facts.design
    errors, warnings = facts.verdict.count("error"), facts.verdict.count("warning")
    indexes = sum(len(table.indexes) for table in design.tables)
    tiles = [
        (str(len(design.tables)), "tables" if len(design.tables) > 1 else "table", ""),
        (str(len(design.entities)), "entities", ""),
        (str(len(design.patterns)), "access patterns", ""),
        (str(indexes), "index" if indexes == 1 else "indexes", ""),
        (f"${facts.monthly:,.0f}", "a month, as advised", ""),
        (str(errors), "error" if errors == 1 else "errors", "error" if errors else "good"),
        (str(warnings), "warning" if warnings == 1 else "warnings", "" if warnings else "good"),
    ]
    return element(
        "header",
        element("h1", design.name),
        element("p", design.description) if design.description else "",
        element("nav", *(element("a", title, href=f"#{name}") for name, title in _SECTIONS)),
        element(
            "div",
            *(
                element("div", element("b", value), element("span", what), class_=f"tile {kind}")
                for value, what, kind in tiles
            ),
            class_="tiles",
        ),
    )


def _section(name: str, title: str, lead: str, content: Markup) -> Markup:
    return element(
        "section", element("h2", title), element("p", lead, class_="lead"), content, id=name
    )


def _patterns(facts: Facts) -> Markup:
    """Return the matrix of patterns and stores; one for each table if there are many stores."""
    design = facts.design
    stores = [
        (table.name, index)
        for table in design.tables
        for index in ("", *(each.name for each in table.indexes))
    ]
    if len(stores) <= _STORES_MAX:
        return _matrix(facts, stores, design.patterns)
    parts: list[Content] = []
    for table in design.tables:
        own = [store for store in stores if store[0] == table.name]
        parts.append(element("h3", table.name))
        parts.append(_matrix(facts, own, design.patterns_of(table.name)))
    return joined(*parts)


def _matrix(
    facts: Facts, stores: list[tuple[str, str]], patterns: Sequence[AccessPattern]
) -> Markup:
    design = facts.design
    head: list[Content] = ["pattern", "entities"]
    head += [index or table for table, index in stores]
    head += [Number(each) for each in ("requests", "reads", "writes", "calls/s", "$/month")]
    rows = []
    for pattern in patterns:
        units, cost = facts.units[pattern.name], facts.pattern_costs[pattern.name]
        names = dict.fromkeys((*pattern.entities, *(step.entity for step in pattern.steps)))
        cells = [
            element("td", element("b", pattern.name), _described(pattern)),
            element("td", *(joined(chip(facts, design.entity(name)), " ") for name in names)),
            *(element("td", _hit(facts, pattern, *store), class_="hit") for store in stores),
            element("td", f"{units.requests:g}", class_="n"),
            element("td", f"{units.read_units:g}" if units.read_units else "", class_="n"),
            element("td", f"{units.write_units:g}" if units.write_units else "", class_="n"),
            element("td", _rate(pattern), class_="n"),
            element("td", "" if cost is None else f"{sum(cost):,.2f}", class_="n"),
        ]
        rows.append(element("tr", *cells))
    return table_of(head, rows, class_="matrix")


def _described(pattern: AccessPattern) -> Markup:
    return element("div", pattern.description, class_="also") if pattern.description else Markup("")


def _rate(pattern: AccessPattern) -> str:
    if pattern.rate is None:
        return ""
    peak = f" – {pattern.rate.peak:g}" if pattern.rate.peak else ""
    return f"{pattern.rate.average:g}{peak}"


def _hit(facts: Facts, pattern: AccessPattern, table: str, index: str) -> Content:
    """Return what a pattern does to a table or index: its operation, or that it is written too."""
    if table in facts.design.tables_of(pattern) and index == pattern.index:
        kind = "scan" if pattern.operation == "scan" else "read" if pattern.is_read else "write"
        return element("span", pattern.operation, class_=f"op {kind}")
    writes = facts.units[pattern.name].writes
    if index and f"{table}.{index}" in writes and writes[f"{table}.{index}"] > 0:
        return element("span", f"+{writes[f'{table}.{index}']:g}", class_="also")
    return ""


def _heat(facts: Facts) -> Markup:
    busy = [run for run in facts.runs.values() if busiest(run) >= _HEAT_UNITS_MIN]
    quiet = [run.name for run in facts.runs.values() if run not in busy]
    cards = [element("div", element("h3", run.name), heat_map(run), class_="card") for run in busy]
    parts: list[Content] = [element("div", *cards, class_="wide cards" if len(busy) > 2 else "")]
    if quiet:
        words = f"Less than {_HEAT_UNITS_MIN:g} unit per second anywhere: {', '.join(quiet)}."
        parts.append(element("p", words, class_="lead also"))
    if not facts.runs:
        parts.append(element("p", "No pattern declares a rate.", class_="lead"))
    return joined(*parts)


def _cost_lead(facts: Facts) -> str:
    prices = facts.prices
    return (
        f"{prices.currency} per month on the declared traffic, {prices.region}, prices of "
        f"{prices.as_of}, without the free tier. The pale part of a bar is storage and recovery."
    )


def _costs(facts: Facts) -> Markup:
    parts: list[Content] = []
    for costs in facts.costs:
        parts.append(element("h3", f"{costs.table.name}: {costs.advised.name}"))
        reasons = element("ul", *(element("li", each) for each in costs.reasons), class_="reasons")
        parts.append(element("div", plan_bars(costs.plans, costs.advised), reasons, class_="card"))
    known = [(name, *each) for name, each in facts.pattern_costs.items() if each is not None]
    if known:
        ordered = sorted(known, key=lambda row: -(row[1] + row[2]))
        parts.append(element("h3", "Patterns, on demand: reads and writes"))
        parts.append(element("div", cost_bars(ordered), class_="card"))
    return joined(*parts)


def _findings(facts: Facts) -> Markup:
    shown = [*facts.verdict.findings, *facts.verdict.waived]
    if not shown:
        return element("p", "Nothing: the design keeps to the standards.", class_="lead")
    return joined(*(_finding(each) for each in shown))


def _finding(finding: Finding) -> Markup:
    tag = "waived" if finding.waiver else finding.severity
    where = f"{finding.subject}: " if finding.subject else ""
    reason = f"Waived: {finding.waiver.reason}" if finding.waiver else finding.rule.mend
    return element(
        "div",
        element("h4", element("span", tag, class_="tag"), f"{where}{finding.message}"),
        element("p", f"{finding.rule.why} ", element("b", reason)),
        element("p", element("code", finding.rule.id), f" · “{finding.rule.standard}”"),
        class_=f"card finding {'' if finding.waiver else finding.severity}",
    )
