"""Rules on keys: do they spread, do they sort, can entities be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hashrange.toolkit.checker.expressions import ranges_of
from hashrange.toolkit.checker.findings import (
    Problem,
    Problems,
    Rulebook,
    of_entity,
    of_index,
    of_pattern,
    of_table,
)
from hashrange.toolkit.cost.consumption import estimate
from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Index, Table
from hashrange.toolkit.design.templates import KeyTemplate

PARTITION_READ_UNITS_MAX: Final = 3000
PARTITION_WRITE_UNITS_MAX: Final = 1000
DISTINCT_MIN: Final = 100
"""A partition key with fewer values than this spreads over too few partitions to grow."""

_RISING_FORMATS: Final = frozenset(
    {"timestamp", "date", "epoch_seconds", "epoch_milliseconds", "sequence", "ulid"}
)

book = Rulebook()
Place = tuple[Table, Index | None, Entity[Any], KeyTemplate]


def partition_keys(design: Design) -> Iterator[Place]:
    """Yield each partition key template, of tables and of global indexes, with its entity."""
    for entity in design.entities:
        table = design.table(entity.table)
        template = entity.template(table.partition.name)
        if template is not None:
            yield table, None, entity, template
        for index in design.indexes_of(entity):
            found = entity.template(index.partition.name)
            if index.kind == "global" and found is not None:
                yield table, index, entity, found


def _where(table: Table, index: Index | None) -> str:
    return of_index(table, index) if index else of_table(table)


def distinct_keys(entity: Entity[Any], template: KeyTemplate) -> int | None:
    """Return how many values a partition key can take, as far as the design says."""
    count = 1
    for placeholder in template.placeholders:
        attribute = entity.attribute(placeholder.field)
        if placeholder.shards:
            count *= placeholder.shards
        elif placeholder.bucket or attribute is None or (known := _distinct(attribute)) is None:
            return None
        else:
            count *= known
    return count


def _distinct(attribute: Attribute) -> int | None:
    if attribute.type == "BOOL":
        return 2
    return attribute.distinct if attribute.distinct is not None else len(attribute.values) or None


@book.rule(
    "key-low-cardinality",
    "error",
    standard="Partition keys MUST evenly distribute traffic to avoid hot partitions.",
    why="All items with the same partition key value share one partition, which serves at most "
    "3,000 read and 1,000 write units per second.",
    mend="Use a key with many values (an id), or add write sharding: {order_id:shard 8}.",
)
def low_cardinality(design: Design) -> Problems:
    """A partition key has too few distinct values."""
    for table, index, entity, template in partition_keys(design):
        if index is not None and index.sparse:
            continue
        count = distinct_keys(entity, template)
        items = entity.volume.items
        if count is None or count >= DISTINCT_MIN or (items is not None and items <= count):
            continue
        if template.is_constant and not _is_large(entity):
            continue
        known = "one value" if count == 1 else f"{count} values"
        yield Problem(
            _where(table, index),
            f"the partition key of {entity.name}, {template.text!r}, has {known}",
            # With shards, the author has thought about it: how many are enough is for key-hot.
            "note" if template.shards > 1 else None,
        )


def _is_large(entity: Entity[Any]) -> bool:
    return entity.volume.items is None or entity.volume.items >= DISTINCT_MIN


@book.rule(
    "key-monotonic",
    "error",
    standard="Avoid monotonically increasing partition keys (timestamps, sequences) without a "
    "sharding/bucketing strategy.",
    why="Keys that only grow send every new item to the newest partition key value, or make each "
    "item a collection of its own that no range query can reach.",
    mend="Put an id in front and the time in the sort key, or bucket the time and add a shard: "
    "{at:%Y-%m-%d}#{device_id:shard 8}.",
)
def monotonic(design: Design) -> Problems:
    """A partition key begins with a value that only grows."""
    for table, index, entity, template in partition_keys(design):
        leading = template.placeholders[:1]
        if not leading or template.shards > 1:
            continue
        attribute = entity.attribute(leading[0].field)
        is_rising = bool(leading[0].bucket) or (
            attribute is not None and attribute.format in _RISING_FORMATS - {"ulid"}
        )
        if not is_rising:
            continue
        others = [each for each in template.placeholders if each.field != leading[0].field]
        if leading[0].bucket and others:
            continue
        what = "a time bucket and nothing else" if leading[0].bucket else "a rising value"
        yield Problem(
            _where(table, index),
            f"the partition key of {entity.name}, {template.text!r}, begins with {what}",
            "warning" if leading[0].bucket else None,
        )


@book.rule(
    "key-hot",
    "error",
    standard="Hot partitions from poor key design",
    why="A single partition key value cannot serve more than 3,000 read and 1,000 write units per "
    "second; beyond that DynamoDB throttles, whatever the table's capacity is.",
    mend="Spread the hottest key over shards, cache its reads, or split the item by what changes.",
)
def hot(design: Design) -> Problems:
    """The declared peak on one partition key value exceeds what a partition can serve."""
    for name, consumption in estimate(design).items():
        pattern = design.pattern(name)
        if pattern.rate is None or pattern.operation == "scan":
            continue
        peak = pattern.rate.peak or pattern.rate.average
        for kind, limit, stores in (
            ("read", PARTITION_READ_UNITS_MAX, consumption.reads),
            ("write", PARTITION_WRITE_UNITS_MAX, consumption.writes),
        ):
            for store, units in stores.items():
                share, why = _hottest_share(design, pattern, store)
                if peak * units * share > limit:
                    yield Problem(
                        of_pattern(pattern),
                        f"at its peak it sends {peak * units * share:,.0f} {kind} units per second "
                        f"to one key of {store} ({why}); a partition serves {limit:,}",
                    )


def _hottest_share(design: Design, pattern: AccessPattern, store: str) -> tuple[float, str]:
    """Return the share of a pattern's units that goes to the hottest key of a store, and why."""
    assert pattern.rate is not None
    table_name, _, index_name = store.partition(".")
    share, why = pattern.rate.hottest_share or 0.0, "declared hottest_share"
    steps = [step.entity for step in pattern.steps]
    for name in (*pattern.entities, *steps):
        entity = design.entity(name)
        if entity.table != table_name:
            continue
        table = design.table(table_name)
        template = entity.template(table.keys_of(index_name).partition.name)
        if template is None:
            continue
        found, reason = share_of_hottest(entity, template)
        if pattern.is_read and template.shards > 1:
            found = 0.0
        if found > share:
            share, why = found, reason
    return share, why


def share_of_hottest(entity: Entity[Any], template: KeyTemplate) -> tuple[float, str]:
    """Return which share of writes the most used key gets, as far as the declarations tell."""
    if template.is_constant:
        return 1.0, "the key is constant"
    share = 1.0
    for placeholder in template.placeholders:
        attribute = entity.attribute(placeholder.field)
        if placeholder.shards:
            share /= placeholder.shards
        elif placeholder.bucket:
            continue  # all writes go to the present bucket
        elif attribute is None:
            return 0.0, ""
        elif attribute.hottest_share is not None:
            share *= attribute.hottest_share
        elif (known := _distinct(attribute)) is not None:
            share /= known
        else:
            return 0.0, ""
    return share, f"template {template.text!r}"


@book.rule(
    "key-number-as-text",
    "error",
    standard="Ensure indexed attributes have stable, consistent types.",
    why="Text sorts by characters, so 10 comes before 9 and ranges return the wrong items.",
    mend="Pad the number in the template ({score:010d}) or use a key attribute of type N.",
)
def number_as_text(design: Design) -> Problems:
    """A sort key holds numbers as text without padding."""
    for entity in design.entities:
        table = design.table(entity.table)
        sorts = (table.sort, *(index.sort for index in design.indexes_of(entity)))
        for sort in sorts:
            template = entity.template(sort.name) if sort else None
            if sort is None or template is None or sort.type != "S":
                continue
            for placeholder in template.placeholders:
                attribute = entity.attribute(placeholder.field)
                if attribute is None or placeholder.width or placeholder.is_computed:
                    continue
                if attribute.type == "N" or attribute.format == "number_text":
                    yield Problem(
                        of_entity(entity),
                        f"the sort key {sort.name}, {template.text!r}, holds the number "
                        f"{placeholder.field} as text",
                    )


@book.rule(
    "key-type-mismatch",
    "error",
    standard="ValidationException: key schema: Check PK/SK types match table definition",
    why="DynamoDB refuses an item whose key has another type, and drops it from an index.",
    mend="Give the attribute and the key attribute the same type.",
)
def type_mismatch(design: Design) -> Problems:
    """An attribute that is a key has another type than the key."""
    for entity in design.entities:
        for key in design.table(entity.table).all_key_attributes:
            template = entity.template(key.name)
            if template is None or not template.is_bare:
                continue
            attribute = entity.attribute(template.fields[0])
            if attribute is not None and attribute.type not in (key.type, "ANY"):
                yield Problem(
                    of_entity(entity),
                    f"key attribute {key.name} has type {key.type}, but {attribute.name} has "
                    f"type {attribute.type}",
                )


@book.rule(
    "key-sort-missing",
    "error",
    standard="Sort keys MUST be used to support range queries and access pattern expansion.",
    why="Without a sort key a partition key value has one item, so a query cannot return a range; "
    "a range in a filter reads everything first.",
    mend="Add a sort key to the table or an index whose sort key is the attribute of the range.",
)
def sort_missing(design: Design) -> Problems:
    """A pattern wants several items or a range, but there is no sort key for it."""
    for pattern in design.patterns:
        if pattern.operation != "query":
            continue
        _, sort = design.read_key(pattern)
        where = pattern.index or pattern.table
        wants_many = not pattern.single and not pattern.index and (pattern.items_returned or 2) > 1
        if sort is None and wants_many:
            yield Problem(of_pattern(pattern), f"{where} has no sort key, so it returns one item")
        ranges = ranges_of(pattern.filter)
        if ranges and (sort is None or pattern.sort_key is None):
            yield Problem(
                of_pattern(pattern),
                f"the range of {ranges[0]} is a filter, not a condition on a sort key",
                None if sort is None else "warning",
            )


@book.rule(
    "key-prefix-missing",
    "error",
    standard="If single-table design is used: use clear entity prefixes/types",
    why="Entities whose keys look alike can overwrite each other and cannot be told apart.",
    mend="Begin the keys with the name of the entity: USER#{user_id}, ORDER#{order_id}.",
)
def prefix_missing(design: Design) -> Problems:
    """Two entities of a table have keys of the same shape."""
    for table in design.tables:
        shapes: dict[tuple[str, ...], Entity[Any]] = {}
        for entity in design.entities_of(table.name):
            templates = [entity.required_template(key.name) for key in table.key_attributes]
            shape = tuple(_shape(template) for template in templates)
            other = shapes.setdefault(shape, entity)
            if other is not entity:
                yield Problem(
                    of_entity(entity),
                    f"its keys in {table.name} have the same form as those of {other.name}",
                )


def _shape(template: KeyTemplate) -> str:
    return "".join(part if isinstance(part, str) else "*" for part in template.parts)


@book.rule(
    "key-range-unordered",
    "warning",
    standard="Poor Key Design: Leading to inefficient access patterns",
    why="A range over a random id returns items in no useful order.",
    mend="Put the time or another ordered field in front: ORDER#{placed_at}#{order_id}.",
)
def range_unordered(design: Design) -> Problems:
    """The newest items are wanted, but the sort key has no order in time."""
    for pattern in design.patterns:
        if pattern.operation != "query" or not pattern.newest_first or not pattern.entities:
            continue
        entity = design.entity(pattern.entities[0])
        _, sort = design.read_key(pattern)
        template = entity.template(sort.name) if sort else None
        if template is None or not template.placeholders:
            continue
        field = entity.attribute(template.placeholders[0].field)
        if field is not None and (field.format == "uuid" or field.type == "B"):
            yield Problem(
                of_pattern(pattern), f"the sort key {template.text!r} begins with a random id"
            )
