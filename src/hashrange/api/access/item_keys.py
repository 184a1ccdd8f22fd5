"""The condition keys of requests for items: which keys, which attributes, how much is returned.

A request is looked at as entries: parts that each name items by Key, Item or a key condition, and
attributes in expressions or in the legacy parameters. Only members that the action knows count:
the server ignores all others, so a policy must not be persuaded by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from hashrange.api.access.demands import RequestKeys
from hashrange.errors import ValidationException
from hashrange.expressions.key_conditions import prepare_key_condition
from hashrange.expressions.mentions import mentioned
from hashrange.model.numbers import normalize
from hashrange.model.schema import KeyPart, Table
from hashrange.model.values import Value

ORDINALS: Final = {
    "dynamodb:leadingkeys": 0,
    "dynamodb:firstpartitionkeyvalues": 0,
    "dynamodb:secondpartitionkeyvalues": 1,
    "dynamodb:thirdpartitionkeyvalues": 2,
    "dynamodb:fourthpartitionkeyvalues": 3,
}
"""Keys with the values of a part of the partition key, and which part."""

_EXPRESSIONS: Final = (
    "ConditionExpression",
    "FilterExpression",
    "KeyConditionExpression",
    "ProjectionExpression",
    "UpdateExpression",
)
_NAMED_BY_MEMBERS: Final = (
    "AttributeUpdates",
    "Expected",
    "Item",
    "Key",
    "KeyConditions",
    "QueryFilter",
    "ScanFilter",
)
_NAMES: Final = "ExpressionAttributeNames"
_GET: Final = frozenset({"Key", "ProjectionExpression", "AttributesToGet", _NAMES})
_WRITE: Final = frozenset(
    {
        "ConditionExpression",
        "Expected",
        "ReturnValues",
        "ReturnValuesOnConditionCheckFailure",
        _NAMES,
    }
)
_READ: Final = frozenset(
    {"IndexName", "Select", "ProjectionExpression", "AttributesToGet", "FilterExpression", _NAMES}
)
_MEMBERS: Final = {
    "GetItem": _GET,
    "BatchGetItem": _GET,
    "PutItem": _WRITE | {"Item"},
    "DeleteItem": _WRITE | {"Key"},
    "ConditionCheckItem": _WRITE | {"Key"},
    "UpdateItem": _WRITE | {"Key", "UpdateExpression", "AttributeUpdates"},
    "BatchWriteItem": frozenset({"Item", "Key"}),
    "Query": _READ
    | {"KeyConditionExpression", "KeyConditions", "QueryFilter", "ExpressionAttributeValues"},
    "Scan": _READ | {"ScanFilter"},
}
_SELECTING: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})
_RETURNING: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"})


@final
class ItemKeys(RequestKeys):
    """The condition keys of one action on items; the action is named without its service."""

    __slots__ = ("_action", "_capacity", "_enclosing", "_entries", "_members")

    def __init__(
        self,
        action: str,
        entries: list[dict[str, Any]],
        capacity: str | None,
        enclosing: str = "",
    ) -> None:
        self._action = action
        self._members = _MEMBERS[action]
        self._entries = entries
        self._capacity = capacity
        self._enclosing = enclosing

    def find(self, key: str, table: Table | None) -> str | list[str] | None:
        if key in ORDINALS:
            return self._partition_values(ORDINALS[key], table)
        if key == "dynamodb:attributes":
            return self._attributes()
        if key == "dynamodb:returnconsumedcapacity":
            return self._capacity or "NONE"
        if key == "dynamodb:enclosingoperation":
            return self._enclosing or None
        if key == "dynamodb:select" and self._action in _SELECTING:
            return self._select()
        if key == "dynamodb:returnvalues" and self._action in _RETURNING:
            return self._return_values()
        return None

    def _member(self, entry: dict[str, Any], name: str) -> Any:
        return entry.get(name) if name in self._members else None

    def _partition_values(self, ordinal: int, table: Table | None) -> list[str] | None:
        """Return the values of a part of the partition key, None if the request names none."""
        if table is None:
            return None
        values: dict[str, None] = {}
        for entry in self._entries:
            index = table.by_name.get(self._member(entry, "IndexName") or "")
            parts = (table.partition,) if index is None else index.partition
            if ordinal < len(parts):
                value = self._named_value(entry, parts[ordinal])
                if value is not None:
                    values[key_text(value)] = None
        return list(values) or None

    def _named_value(self, entry: dict[str, Any], part: KeyPart) -> Value | None:
        """Return the value an entry gives to a part of the key, if it is of the right type."""
        value: Any = None
        named = self._member(entry, "Key")
        if named is None:
            named = self._member(entry, "Item")
        if named is not None:
            value = named.get(part.name)
        elif self._member(entry, "KeyConditionExpression") is not None:
            names = tuple((entry.get(_NAMES) or {}).items())
            prepared = prepare_key_condition(entry["KeyConditionExpression"], names)
            values = entry.get("ExpressionAttributeValues") or {}
            prepared.check(values)
            value = prepared.bind(values).equal_to(part.name)
        elif self._member(entry, "KeyConditions") is not None:
            condition = entry["KeyConditions"].get(part.name) or {}
            if condition.get("ComparisonOperator") == "EQ":
                value = (condition.get("AttributeValueList") or [None])[0]
        if isinstance(value, dict) and isinstance(value.get(part.type), str):
            return {part.type: value[part.type]}
        return None

    def _attributes(self) -> list[str]:
        found: dict[str, None] = {}
        for entry in self._entries:
            names: Mapping[str, str] = entry.get(_NAMES) or {}
            for parameter in _EXPRESSIONS:
                text = self._member(entry, parameter)
                if text is not None:
                    found.update(dict.fromkeys(mentioned(parameter, text, names)))
            for parameter in _NAMED_BY_MEMBERS:
                found.update(dict.fromkeys(self._member(entry, parameter) or ()))
            found.update(dict.fromkeys(self._member(entry, "AttributesToGet") or ()))
        return list(found)

    def _select(self) -> str:
        """Return how much of the items is returned, also where a request does not say."""
        is_index = False
        for entry in self._entries:
            select = self._member(entry, "Select")
            if select is not None:
                return str(select)
            if self._member(entry, "ProjectionExpression") is not None:
                return "SPECIFIC_ATTRIBUTES"
            if self._member(entry, "AttributesToGet") is not None:
                return "SPECIFIC_ATTRIBUTES"
            is_index = is_index or self._member(entry, "IndexName") is not None
        return "ALL_PROJECTED_ATTRIBUTES" if is_index else "ALL_ATTRIBUTES"

    def _return_values(self) -> str:
        """Return what a write shows of its item; a failed condition may show all of it."""
        for entry in self._entries:
            returned = self._member(entry, "ReturnValues") or "NONE"
            if entry.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
                return "ALL_NEW" if returned == "ALL_NEW" else "ALL_OLD"
            return str(returned)
        return "NONE"


def key_text(value: Value) -> str:
    """Return a key value as policies write it: numbers in their shortest form, bytes in base64."""
    if "N" in value:
        try:
            return normalize(value["N"])
        except ValidationException:
            return str(value["N"])
    return str(value.get("S", value.get("B", "")))
