"""The keys of a statement: the item of a write, or the key ranges that a SELECT reads.

A SELECT whose alternatives all fix the partition key reads ranges of keys; any other is a scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from hashrange.api.items.pages import Source
from hashrange.errors import ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.key_conditions import KeyRange
from hashrange.expressions.partiql.where import AttributeTest, Conjunct, Where
from hashrange.model.comparison import equal
from hashrange.model.keys import encode_part
from hashrange.model.schema import KeyPart, Table
from hashrange.model.values import Item, Value
from hashrange.storage.reads import Span, query_span

_RANGES: Final = frozenset(("=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"))
_NO_KEY: Final = "Where clause does not contain a mandatory equality on all key attributes"
_OVERLAP: Final = "Overlapping conditions with range keys are not supported in where clause"


def write_key(table: Table, where: Where | None, values: Values) -> tuple[Item, bool]:
    """Return the key of the item of a write, and whether its WHERE clause is only that key."""
    if where is None or len(where.alternatives) > 1:
        raise ValidationException(_NO_KEY)
    conjuncts = where.alternatives[0]
    key: Item = {}
    for part in table.parts:
        for conjunct in conjuncts:
            test = conjunct.test
            if test is None or test.operator != "=" or test.attribute != part.name:
                continue
            value = values[test.values[0]]
            if part.name in key and not equal(key[part.name], value):
                raise ValidationException(
                    f"Multiple conditions on same key {part.name}. "
                    "Only single item Update/Insert/Delete are supported"
                )
            key[part.name] = value
        if part.name not in key:
            raise ValidationException(_NO_KEY)
    for part in table.parts:
        check_key_value(part, key[part.name])
    return key, len(conjuncts) == len(table.parts)


def read_key(table: Table, where: Where | None, values: Values) -> Item | None:
    """Return the key of a SELECT of one item, or None if its WHERE clause is not exactly a key."""
    if where is None:
        return None
    try:
        key, is_all = write_key(table, where, values)
    except ValidationException as error:
        if error.message == _NO_KEY:
            return None
        raise
    return key if is_all else None


def check_key_value(part: KeyPart, value: Value) -> None:
    """Refuse a value a key attribute cannot have."""
    if part.type not in value:
        raise ValidationException(
            "Key attribute's data type should match its data type in table's schema: "
            f"Key {part.name}"
        )
    if not value[part.type]:
        kind = "string" if part.type == "S" else "binary"
        raise ValidationException(
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            f"cannot contain an empty {kind} value. Key: {part.name}"
        )


@final
class KeyPlan:
    """How a SELECT reads: spans of keys in order, or a scan when there are none.

    `leftover` are the conjuncts beside the key conditions of a statement without alternatives;
    `is_exact` says that the spans hold nothing the WHERE clause does not want.
    """

    __slots__ = ("is_exact", "leftover", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.leftover: tuple[Conjunct, ...] = ()
        self.is_exact = True


@final
class _Branch:
    """One alternative of a WHERE clause, as conditions on the key of a source."""

    __slots__ = ("leftover", "partitions", "sort", "sort_is_loose")

    def __init__(self, conjuncts: Sequence[Conjunct], source: Source, values: Values) -> None:
        partition = source.partition[0]
        sort = source.sort[0] if source.sort else None
        tests = [conjunct.test for conjunct in conjuncts if conjunct.test is not None]
        chosen = _first(tests, partition.name, "=") or _first(tests, partition.name, "IN")
        self.partitions: list[Value] = []
        if chosen is not None:
            self.partitions = [values[name] for name in chosen.values]
        self.sort: AttributeTest | None = None
        self.sort_is_loose = False
        if sort is not None and chosen is not None:
            self.sort = next(
                (
                    test
                    for test in tests
                    if test.attribute == sort.name and test.operator in _RANGES
                ),
                None,
            )
        used = (chosen, self.sort)
        self.leftover = tuple([c for c in conjuncts if c.test is None or c.test not in used])
        if sort is not None:
            self.sort_is_loose = any(sort.name in c.attributes for c in self.leftover)

    def check(self, source: Source, values: Values) -> None:
        """Check the types of the values that make the spans."""
        for value in self.partitions:
            check_key_value(source.partition[0], value)
        if self.sort is not None:
            for name in self.sort.values:
                check_key_value(source.sort[0], values[name])

    def spans(self, source: Source, values: Values, *, reverse: bool) -> list[tuple[bytes, Span]]:
        """Return the span in each partition, with the encoded partition key."""
        kind = source.partition[0].type
        found: dict[bytes, Span] = {}
        for partition in self.partitions:
            sort_equal: tuple[Value, ...] = ()
            operator: str | None = None
            operands: tuple[Value, ...] = ()
            if self.sort is not None:
                sort_values = tuple([values[name] for name in self.sort.values])
                if self.sort.operator == "=":
                    sort_equal = sort_values
                else:
                    operator, operands = self.sort.operator, sort_values
            keys = KeyRange((partition,), sort_equal, operator, operands)
            span = query_span(source.place, source.partition, source.sort, keys, reverse=reverse)
            found[encode_part(kind, partition)] = span
        # Several partitions of one IN are read in the order of their keys.
        return sorted(found.items(), key=_encoded)


def _encoded(pair: tuple[bytes, Span]) -> bytes:
    return pair[0]


def _first(tests: list[AttributeTest], attribute: str, operator: str) -> AttributeTest | None:
    for test in tests:
        if test.attribute == attribute and test.operator == operator:
            return test
    return None


def plan_keys(
    source: Source,
    where: Where | None,
    values: Values,
    *,
    reverse: bool,
    descends: bool,
) -> KeyPlan:
    """Return how to read what a WHERE clause selects.

    `reverse` reads partitions backwards, `descends` starts with the greatest partition key.
    """
    plan = KeyPlan()
    if where is None:
        return plan
    branches = [_Branch(conjuncts, source, values) for conjuncts in where.alternatives]
    is_scan = not all(branch.partitions for branch in branches)
    if not is_scan:
        for branch in branches:
            branch.check(source, values)
    _check_types(source, where, values)
    if is_scan:
        plan.is_exact = False
        return plan
    if len(branches) == 1:
        plan.leftover = branches[0].leftover
    plan.is_exact = not any(branch.leftover for branch in branches)
    found: list[tuple[bytes, Span]] = []
    for branch in branches:
        found.extend(branch.spans(source, values, reverse=reverse))
    loose = any(branch.sort_is_loose for branch in branches)
    plan.spans = _merge(found, loose=loose)
    if len(plan.spans) < len(found):
        plan.is_exact = False
    if descends:
        plan.spans.reverse()
    return plan


def _merge(found: list[tuple[bytes, Span]], *, loose: bool) -> list[Span]:
    """Return spans that do not overlap, so that no item is read twice."""
    spans: list[Span] = []
    partitions: dict[bytes, list[Span]] = {}
    for partition, span in found:
        others = partitions.setdefault(partition, [])
        for other in others:
            if (other.lower, other.upper) == (span.lower, span.upper):
                break
            if other.lower < span.upper and span.lower < other.upper:
                if not loose:
                    raise ValidationException(_OVERLAP)
                other.lower = min(other.lower, span.lower)
                other.upper = max(other.upper, span.upper)
                break
        else:
            others.append(span)
            spans.append(span)
    return spans


def _check_types(source: Source, where: Where, values: Values) -> None:
    """Refuse comparisons of key attributes with values of another type."""
    types = {part.name: part.type for part in source.table.parts}
    types.update({part.name: part.type for part in (*source.partition, *source.sort)})
    for conjuncts in where.alternatives:
        for conjunct in conjuncts:
            test = conjunct.test or conjunct.negated_test
            if test is None or test.attribute not in types:
                continue
            kind = types[test.attribute]
            if any(kind not in values[name] for name in test.values):
                raise ValidationException(
                    "One or more parameter values were invalid: "
                    "Condition parameter type does not match schema type"
                )
