"""Rules on secondary indexes: each is justified by patterns and carries what they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hashrange.toolkit.checker.findings import Problem, Problems, Rulebook, of_index, of_table
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Index, Table

GLOBAL_INDEXES_MAX: Final = 20
LOCAL_INDEXES_MAX: Final = 5
GLOBAL_INDEXES_ADVISED: Final = 5

book = Rulebook()


def indexes(design: Design) -> Iterator[tuple[Table, Index, tuple[AccessPattern, ...]]]:
    """Yield each index with the patterns that read it."""
    for table in design.tables:
        for index in table.indexes:
            yield table, index, design.patterns_of(table.name, index.name)


@book.rule(
    "index-without-pattern",
    "error",
    standard="Create GSIs only for known access patterns.",
    why="Every write to an indexed item is paid again for each index, whether it is read or not.",
    mend="Remove the index, or declare the access pattern that reads it.",
)
def without_pattern(design: Design) -> Problems:
    """No access pattern reads the index."""
    for table, index, patterns in indexes(design):
        if not patterns:
            yield Problem(of_index(table, index), "no access pattern reads it")


@book.rule(
    "index-unused",
    "warning",
    standard="Unused indexes MUST be removed.",
    why="An index that production does not read costs writes and storage for nothing.",
    mend="Remove the index, or move the occasional job to an export.",
)
def unused(design: Design) -> Problems:
    """Only patterns outside production, or with a rate of zero, read the index."""
    for table, index, patterns in indexes(design):
        idle = [p for p in patterns if not p.production or (p.rate and p.rate.average == 0)]
        if patterns and len(idle) == len(patterns):
            names = ", ".join(pattern.name for pattern in idle)
            yield Problem(of_index(table, index), f"only {names} reads it, never in production")


@book.rule(
    "index-unjustified",
    "warning",
    standard="Secondary indexes MUST be explicitly justified and minimized.",
    why="The next reader cannot tell whether the index may be removed or changed.",
    mend="List the patterns in serves, or give a reason.",
)
def unjustified(design: Design) -> Problems:
    """The index says neither what it serves nor why it exists."""
    for table, index, patterns in indexes(design):
        if patterns and not index.serves and not index.reason:
            yield Problem(of_index(table, index), "it has neither serves nor reason")


@book.rule(
    "index-serves-mismatch",
    "error",
    standard="Indexes MUST be documented alongside tables.",
    why="A justification that no longer holds hides an index that could go, or a pattern that "
    "lost its index.",
    mend="Bring serves in line with the patterns that name the index.",
)
def serves_mismatch(design: Design) -> Problems:
    """The patterns in serves are not those that read the index."""
    for table, index, patterns in indexes(design):
        names = {pattern.name for pattern in patterns}
        for name in index.serves:
            if name not in names:
                yield Problem(
                    of_index(table, index), f"serves names {name}, which does not read it"
                )
        missing = sorted(names - set(index.serves))
        if index.serves and missing:
            yield Problem(
                of_index(table, index), f"serves lacks {', '.join(missing)}", severity="warning"
            )


@book.rule(
    "index-projection-all",
    "warning",
    standard="Secondary indexes: MUST document projected attributes and cost impact.",
    why="Projecting everything makes each index write and each index read as large as the item.",
    mend="Use projection INCLUDE with the attributes the patterns name, or KEYS_ONLY.",
)
def projection_all(design: Design) -> Problems:
    """The index projects all attributes, but its patterns need only some."""
    for table, index, patterns in indexes(design):
        if index.projection != "ALL" or not patterns:
            continue
        if all(pattern.projection for pattern in patterns):
            needed = sorted({name for pattern in patterns for name in pattern.projection})
            yield Problem(of_index(table, index), f"its patterns need only {', '.join(needed)}")


@book.rule(
    "index-projection-missing",
    "error",
    standard="Inefficient Queries: Not using indexes properly",
    why="A global index cannot return attributes it does not hold, so the caller has to read every "
    "item again from the table.",
    mend="Add the attributes to include, or narrow the projection of the pattern.",
)
def projection_missing(design: Design) -> Problems:
    """A pattern needs attributes that the index does not project."""
    for table, index, patterns in indexes(design):
        if index.projection == "ALL":
            continue
        held = {key.name for key in (*table.key_attributes, *index.key_attributes)}
        held |= set(index.include)
        for pattern in patterns:
            for name in pattern.entities:
                entity = design.entity(name)
                keys = [entity.template(key) for key in held]
                fields = {field for each in keys if each for field in each.fields}
                missing = [n for n in pattern.projection if n not in held | fields]
                if missing:
                    yield Problem(
                        of_index(table, index),
                        f"{pattern.name} needs {', '.join(missing)}, which is not projected",
                    )


@book.rule(
    "index-too-many",
    "warning",
    standard="Avoid over-indexing; each write updates all indexed attributes.",
    why="Each index is a copy of the data with its own cost, capacity and back-fill.",
    mend="Overload one index with several entities (GSI1PK, GSI1SK), or drop rare patterns.",
)
def too_many(design: Design) -> Problems:
    """A table has many global indexes."""
    for table in design.tables:
        count = sum(index.kind == "global" for index in table.indexes)
        if GLOBAL_INDEXES_ADVISED < count <= GLOBAL_INDEXES_MAX:
            yield Problem(of_table(table), f"it has {count} global indexes")


@book.rule(
    "index-limit",
    "error",
    standard="Ignoring Limits: Hitting throughput or size limits",
    why="CreateTable refuses more than 20 global or 5 local indexes by default.",
    mend="Overload indexes with several entities, or split the table.",
)
def limit(design: Design) -> Problems:
    """A table has more indexes than DynamoDB allows."""
    for table in design.tables:
        for kind, most in (("global", GLOBAL_INDEXES_MAX), ("local", LOCAL_INDEXES_MAX)):
            count = sum(index.kind == kind for index in table.indexes)
            if count > most:
                yield Problem(of_table(table), f"it has {count} {kind} indexes, {most} are allowed")


@book.rule(
    "index-empty",
    "error",
    standard="Missing GSIs for required patterns",
    why="An item is in an index only if it has all key attributes of the index.",
    mend="Give the entity key templates for the index.",
)
def empty(design: Design) -> Problems:
    """A pattern reads an index that cannot hold its entity."""
    for table, index, patterns in indexes(design):
        for pattern in patterns:
            for name in pattern.entities:
                if index not in design.indexes_of(design.entity(name)):
                    yield Problem(
                        of_index(table, index),
                        f"{pattern.name} expects {name} items, which have no keys for it",
                    )
