"""Rules on access patterns: they exist, they query instead of scanning, they waste no reads."""

from __future__ import annotations

from typing import Final

from hashrange.toolkit.checker.expressions import equalities_of
from hashrange.toolkit.checker.findings import (
    Problem,
    Problems,
    Rulebook,
    of_entity,
    of_pattern,
    of_table,
)
from hashrange.toolkit.cost.consumption import PAGE_BYTES_MAX, Estimate
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Index

KEEPS_WARNING: Final = 0.5
KEEPS_ERROR: Final = 0.1
SHARD_READS_ADVISED: Final = 50

book = Rulebook()


@book.rule(
    "pattern-none",
    "error",
    standard="All access patterns MUST be defined before table creation.",
    why="Keys can only be judged against the reads and writes they serve.",
    mend="Declare the reads and writes of the table as access patterns.",
)
def none(design: Design) -> Problems:
    """A table has no access patterns."""
    for table in design.tables:
        if not design.patterns_of(table.name):
            yield Problem(of_table(table), "no access pattern uses it")


@book.rule(
    "pattern-entity-unreached",
    "warning",
    standard="Table design MUST be driven by access patterns, not normalization.",
    why="An entity that nobody reads or writes is either dead or has undeclared patterns.",
    mend="Declare how items of the entity are written and read, or remove it.",
)
def entity_unreached(design: Design) -> Problems:
    """An entity is read or written by no pattern."""
    read: set[str] = set()
    written: set[str] = set()
    for pattern in design.patterns:
        names = {*pattern.entities, *(step.entity for step in pattern.steps)}
        (read if pattern.is_read else written).update(names)
        if any(step.action in ("update", "check") for step in pattern.steps):
            read |= names  # its state takes part in conditions
    for entity in design.entities:
        if entity.name not in read and entity.name not in written:
            yield Problem(of_entity(entity), "no access pattern reads or writes it")
        elif entity.name not in read:
            yield Problem(of_entity(entity), "no access pattern reads it", "note")
        elif entity.name not in written:
            yield Problem(of_entity(entity), "no access pattern writes it", "note")


@book.rule(
    "pattern-scan",
    "error",
    standard="Scans MUST NOT be used in production paths.",
    why="A scan reads and bills every item of the table, and becomes slower with each one.",
    mend="Declare keys or an index for a query. If the scan is a rare job, set production = false "
    "or say why in scan_reason, and set a limit.",
)
def scan(design: Design) -> Problems:
    """A production pattern scans."""
    for pattern in design.patterns:
        if pattern.operation != "scan" or not pattern.production:
            continue
        if not pattern.scan_reason:
            yield Problem(of_pattern(pattern), f"it scans {pattern.index or pattern.table}")
        elif pattern.limit is None:
            yield Problem(of_pattern(pattern), "the scan has a reason but no limit", "warning")


@book.rule(
    "pattern-needs-index",
    "error",
    standard="Missing GSIs for required patterns",
    why="Without an index on the attribute, DynamoDB reads everything and throws most of it away.",
    mend="Add an index whose partition key is the attribute, and query it.",
)
def needs_index(design: Design) -> Problems:
    """A pattern finds items by an attribute that is no key."""
    for pattern in design.patterns:
        if pattern.operation != "scan" or not pattern.production or pattern.scan_reason:
            continue
        table = design.table(pattern.table)
        heads = {index.partition.name for index in table.indexes} | {table.partition.name}
        for name in equalities_of(pattern.filter):
            if name not in heads:
                yield Problem(
                    of_pattern(pattern), f"it looks for {name}, which no index begins with"
                )


@book.rule(
    "pattern-ignores-index",
    "error",
    standard="Inefficient Queries: Not using indexes properly",
    why="The filter reads all items first, although an index would find the right ones.",
    mend="Query the index and leave the filter out.",
)
def ignores_index(design: Design) -> Problems:
    """A filter compares an attribute that an index begins with."""
    for pattern in design.patterns:
        if pattern.operation not in ("query", "scan") or not pattern.filter:
            continue
        table = design.table(pattern.table)
        for name in equalities_of(pattern.filter):
            for index in table.indexes:
                if index.name != pattern.index and _serves(design, pattern.entities, index, name):
                    yield Problem(
                        of_pattern(pattern),
                        f"it filters by {name}, for which there is the index {index.name}",
                        None if pattern.operation == "scan" else "warning",
                    )


def _serves(design: Design, entities: tuple[str, ...], index: Index, name: str) -> bool:
    if index.partition.name == name:
        return True
    templates = [design.entity(each).template(index.partition.name) for each in entities]
    return any(template is not None and template.fields == (name,) for template in templates)


@book.rule(
    "pattern-filter-wasteful",
    "warning",
    standard="Always prefer Query over Scan.",
    why="A filter works after the read: everything it drops was read and paid.",
    mend="Move the condition into the sort key, or use a sparse index for the items wanted.",
)
def filter_wasteful(design: Design) -> Problems:
    """A filter throws away most of what was read."""
    for pattern in design.patterns:
        if not pattern.filter or not pattern.is_read:
            continue
        keeps = pattern.filter_keeps
        if keeps is None:
            yield Problem(
                of_pattern(pattern),
                "filter_keeps does not say which share the filter keeps",
                "note",
            )
        elif keeps < KEEPS_WARNING:
            yield Problem(
                of_pattern(pattern),
                f"the filter drops {1 - keeps:.0%} of what is read",
                "error" if keeps < KEEPS_ERROR and pattern.production else None,
            )


@book.rule(
    "pattern-unpaged",
    "warning",
    standard="If scans are unavoidable, use pagination and limit scope.",
    why="A query without a limit reads the whole item collection, however large it has become.",
    mend="Set a limit, or a condition on the sort key; the caller continues with a cursor.",
)
def unpaged(design: Design) -> Problems:
    """A query without a limit reads an item collection that is large or grows without end."""
    for pattern in design.patterns:
        if pattern.operation != "query" or pattern.limit is not None or pattern.single:
            continue
        if pattern.sort_key is not None and pattern.sort_key.operator in ("=", "between"):
            continue
        for name in pattern.entities:
            entity = design.entity(name)
            volume = entity.volume
            size = (volume.collection_items_max or 0) * Estimate(design, pattern).item_bytes(entity)
            if volume.growth == "unbounded" or size > PAGE_BYTES_MAX:
                what = "grow without end" if volume.growth == "unbounded" else "exceed 1 MB"
                yield Problem(of_pattern(pattern), f"the {name} items of a key {what}")


@book.rule(
    "pattern-fan-out",
    "warning",
    standard="Use batching when appropriate to reduce network overhead.",
    why="A read of a sharded key sends one query per shard.",
    mend="Use fewer shards, or keep an aggregate that one read returns.",
)
def fan_out(design: Design) -> Problems:
    """A read needs many requests because of its shards."""
    for pattern in design.patterns:
        requests = Estimate(design, pattern).consumption().requests
        if pattern.operation == "query" and requests > SHARD_READS_ADVISED:
            yield Problem(of_pattern(pattern), f"one call needs {requests:.0f} requests")


@book.rule(
    "pattern-strong-read",
    "error",
    standard="Strongly consistent reads MUST be used only when required.",
    why="A strongly consistent read costs twice as much and fails when its replica is unavailable.",
    mend="Leave consistent out, or say in consistent_reason what would go wrong without it.",
)
def strong_read(design: Design) -> Problems:
    """A read is strongly consistent without a reason."""
    for pattern in design.patterns:
        if pattern.consistent and not pattern.consistent_reason:
            yield Problem(of_pattern(pattern), "consistent_reason is empty")


@book.rule(
    "pattern-without-expectations",
    "warning",
    standard="No Monitoring: Flying blind without metrics",
    why="Without a declared rate or budget, nothing in tests or live traffic can be called wrong.",
    mend="Give the patterns a rate, and a budget for the ones that matter.",
)
def without_expectations(design: Design) -> Problems:
    """No pattern of a table declares a rate or a budget."""
    for table in design.tables:
        patterns = design.patterns_of(table.name)
        if patterns and all(p.rate is None and _has_no_budget(p.budget) for p in patterns):
            yield Problem(of_table(table), "no pattern declares a rate or a budget")


def _has_no_budget(budget: object) -> bool:
    names = ("read_units", "write_units", "items_examined", "requests", "latency_ms")
    return all(getattr(budget, name) is None for name in (*names, "monthly_cost"))


@book.rule(
    "pattern-undescribed",
    "note",
    standard="Tables: MUST document supported access patterns.",
    why="The name of a pattern rarely says who calls it and what for.",
    mend="Add a description of one sentence.",
)
def undescribed(design: Design) -> Problems:
    """A pattern has no description."""
    for pattern in design.patterns:
        if not pattern.description:
            yield Problem(of_pattern(pattern), "it has no description")


@book.rule(
    "pattern-untested",
    "note",
    standard="Access patterns MUST be tested.",
    why="Without a budget, a test can only find that a pattern does not work at all.",
    mend="Give the pattern a budget: read_units, write_units, items_examined, requests.",
)
def untested(design: Design) -> Problems:
    """A production pattern has no budget to be tested against."""
    for pattern in design.patterns:
        if pattern.production and _has_no_budget(pattern.budget):
            yield Problem(of_pattern(pattern), "it has no budget")
