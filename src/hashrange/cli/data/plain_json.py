"""Items as plain JSON, the form in which people type and read them.

Text, whole and decimal numbers, booleans, null, lists and objects are themselves; numbers keep all
their digits. What JSON lacks is an object with one member that begins with a dollar sign:

    {"$binary": "aGVsbG8="}    base64
    {"$set": ["a", "b"]}       texts, numbers or binaries
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.values import Item, Wire, from_wire_item, to_wire

_BINARY: Final = "$binary"
_SET: Final = "$set"


class PlainJsonError(Exception):
    """A text is no item; the message says why, for people."""


def item_of(text: str) -> Item:
    """Return the item that a JSON object describes."""
    return {name: wire_of(value) for name, value in _object_of(text).items()}


def typed_item_of(text: str) -> Item:
    """Return an item from DynamoDB's own JSON, such as {"Artist": {"S": "Nina Simone"}}."""
    found = _object_of(text)
    for name, value in found.items():
        if not isinstance(value, dict) or len(value) != 1:
            raise PlainJsonError(f'"{name}" is no typed value such as {{"S": "text"}}')
    return {name: _with_bytes(value) for name, value in found.items()}


def wire_of(value: object) -> Wire:
    """Return a value that was read from JSON as an attribute value."""
    try:
        return to_wire(_python_of(value))
    except ConversionError as error:
        raise PlainJsonError(str(error)) from error


def text_of(item: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return an item as a JSON object."""
    return json_text(from_wire_item(item), indent=indent)


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a Python value as JSON text; numbers keep all their digits."""
    return json.dumps(_json_of(value), indent=indent, ensure_ascii=False, default=_encode)


def _object_of(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise PlainJsonError(f"this is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise PlainJsonError('an item is a JSON object, such as {"id": "7"}')
    return found


def _python_of(value: object) -> object:
    if isinstance(value, list):
        return [_python_of(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_BINARY}:
        return _bytes_of(value[_BINARY])
    if value.keys() == {_SET} and isinstance(value[_SET], list):
        try:
            return {_python_of(each) for each in value[_SET]}
        except TypeError as error:
            raise PlainJsonError("a set has texts, numbers or binaries") from error
    return {name: _python_of(each) for name, each in value.items()}


def _json_of(value: object) -> object:
    if isinstance(value, bytes):
        return {_BINARY: base64.b64encode(value).decode()}
    if isinstance(value, set):
        return {_SET: [_json_of(each) for each in sorted(value)]}
    if isinstance(value, list):
        return [_json_of(each) for each in value]
    if isinstance(value, dict):
        return {name: _json_of(each) for name, each in value.items()}
    return value


def _encode(value: object) -> object:
    """Encode what JSON has no exact form for: floats lose no digit if they read back the same."""
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    return str(value)


def _bytes_of(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise PlainJsonError(f"{text!r} is not base64") from error


def _with_bytes(value: Wire) -> Wire:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: _bytes_of(content)}
    if kind == "BS":
        return {kind: [_bytes_of(each) for each in content]}
    if kind == "L":
        return {kind: [_with_bytes(each) for each in content]}
    if kind == "M":
        return {kind: {name: _with_bytes(each) for name, each in content.items()}}
    return value
