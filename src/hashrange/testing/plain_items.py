"""Fast path for botocore's validation, serialization and parsing of plain items.

botocore validates, serializes and parses attribute values one by one, with several calls for each.
A map of attribute values is *plain* if it consists only of dictionaries, lists, text and booleans
in their places. A plain map is valid, and serializes and parses to itself; one walk finds this out.
botocore handles all other maps (binaries, tuples, subclasses, mistakes, more nesting than DynamoDB
allows), so outcomes and messages are botocore's.

If botocore renames the methods that are overridden here, it does all the work itself;
tests/unit/testing/test_plain_items.py notices that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from botocore.parsers import JSONParser
from botocore.serialize import JSONSerializer
from botocore.validate import ParamValidator

from hashrange.limits import NESTING_LEVELS_MAX

_SCALARS: Final = {"S": str, "N": str, "BOOL": bool, "NULL": bool}
_ONLY_TEXT: Final = {str}
_VALUE_SHAPE: Final = "AttributeValue"


class PlainItemParser(JSONParser):  # type: ignore[misc]
    """Parses answers, with the fast path for plain items."""

    def _handle_map(self, shape: Any, value: Any) -> Any:
        if shape.value.name == _VALUE_SHAPE and _is_plain_map(value):
            return value
        return super()._handle_map(shape, value)


class _PlainItemValidator(ParamValidator):  # type: ignore[misc]
    """Validates parameters, with the fast path for plain items."""

    def _validate_map(self, param: Any, shape: Any, errors: Any, name: Any) -> None:
        if shape.value.name != _VALUE_SHAPE or not _is_plain_map(param):
            super()._validate_map(param, shape, errors, name)


class _PlainItemSerializer(JSONSerializer):  # type: ignore[misc]
    """Serializes parameters, with the fast path for plain items."""

    def _serialize_type_map(self, serialized: Any, value: Any, shape: Any, key: Any) -> None:
        if shape.value.name == _VALUE_SHAPE and _is_plain_map(value):
            serialized[key] = value
        else:
            super()._serialize_type_map(serialized, value, shape, key)


class _PlainItemClient:
    """What the class of a client inherits besides botocore's BaseClient."""

    def __init__(self, **parts: Any) -> None:
        quicken(parts.get("serializer"))
        super().__init__(**parts)


def quicken_clients(events: Any) -> None:
    """Make the clients quick that the session with these events makes from now on."""
    events.register("creating-client-class.dynamodb", _quicken_class, unique_id=__name__)


def _quicken_class(base_classes: list[type], **_: object) -> None:
    base_classes.insert(0, _PlainItemClient)


def quicken(serializer: Any) -> None:
    """Make a new client's serializer quick, as far as it is made of parts known here."""
    validator = getattr(serializer, "_param_validator", None)
    if type(validator) is ParamValidator:
        validator.__class__ = _PlainItemValidator
    # Without parameter validation nothing is wrapped around the serializer.
    inner = getattr(serializer, "_serializer", serializer)
    if type(inner) is JSONSerializer:
        inner.__class__ = _PlainItemSerializer


def _is_plain_map(values: object, levels: int = NESTING_LEVELS_MAX) -> bool:
    if type(values) is not dict or not set(map(type, values)) <= _ONLY_TEXT:
        return False
    return _are_plain(values.values(), levels)


def _are_plain(values: Iterable[object], levels: int) -> bool:
    for value in values:
        if type(value) is not dict or len(value) != 1:
            return False
        [(kind, content)] = value.items()
        if type(content) is _SCALARS.get(kind):
            continue
        if not levels or not _is_plain_collection(kind, content, levels - 1):
            return False
    return True


def _is_plain_collection(kind: str, content: object, levels: int) -> bool:
    if kind == "M":
        return _is_plain_map(content, levels)
    if type(content) is not list:
        return False
    if kind == "L":
        return _are_plain(content, levels)
    return kind in ("SS", "NS") and set(map(type, content)) <= _ONLY_TEXT
