"""Checks ExclusiveStartKey of Query and Scan against the schema and the range that is read.

The checks are in three steps, with checks of other parameters in between: the number of
attributes, the key attributes of the table or index that is read, and those of the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hashrange.api.items.pages import Source
from hashrange.errors import ValidationException
from hashrange.expressions.key_conditions import KeyRange
from hashrange.model.keys import index_key, item_key
from hashrange.model.schema import KeyPart
from hashrange.model.values import Item, Value
from hashrange.storage.reads import Span, query_span

INVALID_START: Final = "The provided starting key is invalid"
_MISMATCH: Final = "The provided key element does not match the schema"


def check_start_names(source: Source, start: Item) -> None:
    """Refuse a starting key with more or fewer attributes than the keys of table and index."""
    names = set(source.table.key_names)
    if source.index is not None:
        names.update(source.index.key_names)
    if len(start) != len(names):
        raise ValidationException(INVALID_START)


def check_start_parts(start: Item, parts: Iterable[KeyPart]) -> None:
    """Refuse a starting key that lacks a key attribute of the source, or has another type."""
    for part in parts:
        value = start.get(part.name)
        if value is None:
            raise ValidationException(INVALID_START)
        if part.type not in value:
            raise ValidationException(_MISMATCH)


def start_position(source: Source, start: Item) -> bytes:
    """Return the key bytes of a starting key, whose table key must fit the schema."""
    table, index = source.table, source.index
    if index is None and len(start) != len(table.parts):
        raise ValidationException(f"{INVALID_START}: {_MISMATCH}")
    for part in table.parts:
        value = start.get(part.name)
        if value is None or part.type not in value:
            raise ValidationException(f"{INVALID_START}: {_MISMATCH}")
    for part in (*table.parts, *source.partition, *source.sort):
        if not start[part.name][part.type]:
            kind = "binary" if part.type == "B" else "string"
            raise ValidationException(
                f"{INVALID_START}: One or more parameter values are not valid. The AttributeValue "
                f"for a key attribute cannot contain an empty {kind} value. Key: {part.name}"
            )
    if index is None:
        return item_key(table.parts, start)
    position = index_key(index, table, start)
    assert position is not None
    return position


def check_reachable(source: Source, keys: KeyRange, start: Item, position: bytes) -> None:
    """Refuse a starting key that a query could not have returned."""
    found = tuple([start[part.name] for part in source.partition])
    has_sort_condition = keys.operator is not None or bool(keys.sort_equal)
    if has_sort_condition and not _span_of(source, keys, found).holds(position):
        raise ValidationException(
            "The provided starting key does not match the range key predicate"
        )
    if found != keys.partition:
        raise ValidationException(
            "The query can return at most one row and cannot be restarted"
            if has_sort_condition
            else "The provided starting key is outside query boundaries based on provided "
            "conditions"
        )


def _span_of(source: Source, keys: KeyRange, partition: tuple[Value, ...]) -> Span:
    """Return the span that the conditions on the sort key select in a partition."""
    elsewhere = KeyRange(partition, keys.sort_equal, keys.operator, keys.operands)
    return query_span(source.place, source.partition, source.sort, elsewhere, reverse=False)
