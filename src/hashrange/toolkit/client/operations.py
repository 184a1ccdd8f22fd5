"""The operations on one table, as plans: get, put, update, delete, and the fetches of query, scan.

Values are Python values on the outside and attribute values in the requests. `TableContext` has
what all operations of a table share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypedDict, final

from hashrange.toolkit.client.expressions import Expressions
from hashrange.toolkit.client.pages import Fetch, Position, RawPage
from hashrange.toolkit.client.plans import Call, Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.values import Item, from_wire_item, to_wire_item

Attributes = dict[str, Any]
Key = Mapping[str, Any]

_RELATIVE: Final = ("+", "-", "list_append", "ADD ")


class AttributeCodec(Protocol):
    """Changes attributes on their way to the table and back: compression, encryption, S3."""

    def encode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item as it is stored."""
        ...

    def decode(self, item: Item, table: str) -> Plan[Item]:
        """Return a stored item as it was."""
        ...


@final
@dataclass(frozen=True)
class TableContext:
    """A table by name, and how its requests are made."""

    table: str
    policy: RetryPolicy = DEFAULT_POLICY
    floats: bool = False
    codecs: Sequence[AttributeCodec] = field(default=())

    def expressions(self, values: Mapping[str, Any] | None = None) -> Expressions:
        return Expressions(values, floats=self.floats)

    def key(self, key: Key) -> Item:
        return to_wire_item(key, floats=self.floats)

    def encode(self, item: Mapping[str, Any]) -> Plan[Item]:
        """Return an item as it is stored, after all codecs."""
        wire = to_wire_item(item, floats=self.floats)
        for codec in self.codecs:
            wire = yield from codec.encode(wire, self.table)
        return wire

    def decode(self, item: Item) -> Plan[Attributes]:
        """Return a stored item as Python values, before all codecs."""
        for codec in reversed(self.codecs):
            item = yield from codec.decode(item, self.table)
        return from_wire_item(item)

    def decode_all(self, items: Iterable[Item]) -> Plan[list[Attributes]]:
        """Return stored items as Python values, before all codecs."""
        found = []
        for item in items:
            decoded = yield from self.decode(item)
            found.append(decoded)
        return found

    def reveal(self, items: Sequence[Item]) -> Plan[Sequence[Item]]:
        """Return stored items in API form, before all codecs."""
        found = list(items)
        for codec in reversed(self.codecs):
            for at, item in enumerate(found):
                found[at] = yield from codec.decode(item, self.table)
        return found

    def send(
        self, method: str, parameters: dict[str, Any], *, repeatable: bool = True
    ) -> Plan[Any]:
        """Send a request about this table, with retries."""
        call = Call(method, {"TableName": self.table, **parameters}, repeatable)
        return attempt(call, self.policy)


class SegmentOptions(TypedDict, total=False):
    """Options of parallel scans.

    `values` are the `:parameters` of the filter. `projection` names the attributes wanted.
    """

    index: str
    filter: str
    values: Mapping[str, Any]
    projection: Iterable[str]
    consistent: bool


class ScanOptions(SegmentOptions, total=False):
    """Options of scans; `limit` bounds the items of an iteration."""

    limit: int | None


class ReadOptions(ScanOptions, total=False):
    """Options of queries."""

    newest_first: bool


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raise TypeError for an option that does not exist, as a function would."""
    unknown = options.keys() - known.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")


def get(
    context: TableContext, key: Key, *, consistent: bool = False, projection: Iterable[str] = ()
) -> Plan[Attributes | None]:
    """Return the item with a key, or None."""
    expressions = context.expressions()
    parameters: dict[str, Any] = {"Key": context.key(key)}
    if consistent:
        parameters["ConsistentRead"] = True
    if text := expressions.projection(projection):
        parameters["ProjectionExpression"] = text
    answer = yield from context.send("get_item", {**parameters, **expressions.parameters()})
    item = answer.get("Item")
    if item is None:
        return None
    return (yield from context.decode(item))


def put(
    context: TableContext,
    item: Mapping[str, Any],
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Plan[Attributes | None]:
    """Write a whole item; return the one it replaced, or None."""
    expressions = context.expressions(values)
    parameters: dict[str, Any] = {
        "Item": (yield from context.encode(item)),
        "ReturnValues": "ALL_OLD",
        **_condition(expressions, condition),
    }
    return (yield from _written(context, "put_item", parameters, expressions, not condition))


def delete(
    context: TableContext,
    key: Key,
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Plan[Attributes | None]:
    """Delete an item; return it, or None if there was none."""
    expressions = context.expressions(values)
    parameters: dict[str, Any] = {
        "Key": context.key(key),
        "ReturnValues": "ALL_OLD",
        **_condition(expressions, condition),
    }
    return (yield from _written(context, "delete_item", parameters, expressions, not condition))


def update(
    context: TableContext,
    key: Key,
    expression: str,
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Plan[Attributes]:
    """Update an item by an expression; return it as it is now."""
    expressions = context.expressions(values)
    text = expressions.text(expression)
    return (yield from _updated(context, key, text, condition, expressions))


def change(
    context: TableContext,
    key: Key,
    changes: Mapping[str, Mapping[str, Any] | Iterable[str]],
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Plan[Attributes]:
    """Update an item by what to set, add, remove and delete; return it as it is now."""
    expressions = context.expressions(values)
    assign, add = _mapping(changes, "set"), _mapping(changes, "add")
    text = expressions.updates(assign, add, changes.get("remove", ()), _mapping(changes, "delete"))
    if not text:
        raise DesignError("an update needs something to set, add, remove or delete")
    return (yield from _updated(context, key, text, condition, expressions))


def _mapping(changes: Mapping[str, Any], verb: str) -> Mapping[str, Any]:
    chosen: Mapping[str, Any] = changes.get(verb, {})
    return chosen


def _updated(
    context: TableContext, key: Key, text: str, condition: str, expressions: Expressions
) -> Plan[Attributes]:
    if context.codecs:
        raise DesignError("items with codecs are written whole: use get and put")
    parameters: dict[str, Any] = {
        "Key": context.key(key),
        "UpdateExpression": text,
        "ReturnValues": "ALL_NEW",
        **_condition(expressions, condition),
    }
    is_repeatable = not condition and not any(sign in text for sign in _RELATIVE)
    found = yield from _written(context, "update_item", parameters, expressions, is_repeatable)
    return found or {}


def _condition(expressions: Expressions, condition: str) -> dict[str, Any]:
    if not condition:
        return {}
    return {
        "ConditionExpression": expressions.text(condition),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _written(
    context: TableContext,
    method: str,
    parameters: dict[str, Any],
    expressions: Expressions,
    is_repeatable: bool,
) -> Plan[Attributes | None]:
    parameters = {**parameters, **expressions.parameters()}
    answer = yield from context.send(method, parameters, repeatable=is_repeatable)
    found = answer.get("Attributes")
    if not found:
        return None
    return (yield from context.decode(found))


def query_fetch(context: TableContext, key: Key | str, options: ReadOptions) -> Fetch:
    """Return the fetch of a query. The key is a mapping, or a key condition with :parameters."""
    expressions = context.expressions(options.get("values"))
    text = expressions.text(key) if isinstance(key, str) else expressions.key_condition(key)
    parameters: dict[str, Any] = {"KeyConditionExpression": text}
    if options.get("newest_first"):
        parameters["ScanIndexForward"] = False
    return _fetch(context, "query", {**parameters, **_reading(expressions, options)})


def scan_fetch(
    context: TableContext, options: SegmentOptions, segment: int = 0, segments: int = 1
) -> Fetch:
    """Return the fetch of a scan, or of one segment of it."""
    expressions = context.expressions(options.get("values"))
    parameters: dict[str, Any] = {}
    if segments > 1:
        parameters = {"Segment": segment, "TotalSegments": segments}
    return _fetch(context, "scan", {**parameters, **_reading(expressions, options)})


def _reading(expressions: Expressions, options: SegmentOptions) -> dict[str, Any]:
    parameters: dict[str, Any] = {"ReturnConsumedCapacity": "TOTAL"}
    if index := options.get("index"):
        parameters["IndexName"] = index
    if options.get("consistent"):
        parameters["ConsistentRead"] = True
    if condition := options.get("filter"):
        parameters["FilterExpression"] = expressions.text(condition)
    if text := expressions.projection(options.get("projection", ())):
        parameters["ProjectionExpression"] = text
    return {**parameters, **expressions.parameters()}


def _fetch(context: TableContext, method: str, parameters: dict[str, Any]) -> Fetch:
    def fetch(position: Position, size: int | None) -> Plan[RawPage]:
        asked = dict(parameters)
        if position is not None:
            asked["ExclusiveStartKey"] = position
        if size is not None:
            asked["Limit"] = size
        answer = yield from context.send(method, asked)
        items = yield from context.reveal(answer.get("Items", []))
        units = answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
        examined = answer.get("ScannedCount", len(items))
        return RawPage(items, answer.get("LastEvaluatedKey"), examined, float(units))

    return fetch
