"""Type errors in the JSON of attribute values, worded as AWS's deserialiser words them.

AWS deserialises the whole request before it validates anything, so these errors come before
every ValidationException.
"""

from __future__ import annotations

import re
from typing import Final

from hashrange.errors import SerializationException

_VALUE_CLASS: Final = "com.amazonaws.dynamodb.v20120810.AttributeValue"
_COLLECTIONS: Final = {
    "String": "class java.lang.String",
    "Boolean": "class java.lang.Boolean",
    "Blob": "class java.nio.ByteBuffer",
    "AttributeValue": f"class {_VALUE_CLASS}",
    "Map": f"java.util.Map<java.lang.String, {_VALUE_CLASS}>",
}
_SCALARS: Final = {"S": "String", "N": "String", "B": "Blob", "BOOL": "Boolean", "NULL": "Boolean"}
_SETS: Final = {"SS": "String", "NS": "String", "BS": "Blob"}

_is_base64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"
).fullmatch
_LEFT_OVER_BITS_UNSET: Final = {0: "", 1: "AEIMQUYcgkosw048", 2: "AQgw"}
_not_base64: Final = re.compile(r"[^A-Za-z0-9+/]").search


def mistyped(content: object, expected: str) -> SerializationException:
    """Return AWS's refusal of `content` where a value of the class `expected` belongs."""
    return SerializationException(_mistyped_text(content, expected))


def _mistyped_text(content: object, expected: str) -> str:
    if isinstance(content, list):
        return f"Unrecognized collection type {_COLLECTIONS[expected]}"
    if isinstance(content, dict):
        return "Start of structure or map found where not expected"
    if expected == "AttributeValue":
        return "Unexpected value type in payload"
    if expected in ("List", "Map"):
        return "Unexpected field type"
    if expected == "Blob":
        return "only base-64-encoded strings are convertible to bytes"
    if isinstance(content, str):
        return "Unexpected token received from parser"
    if isinstance(content, bool):
        token = "TRUE_VALUE" if content else "FALSE_VALUE"
    else:
        token = "DECIMAL_VALUE" if isinstance(content, float) else "NUMBER_VALUE"
    return f"{token} cannot be converted to {expected}"


def base64_refusal(text: str) -> str:
    """Return AWS's error text if a text is not strict base64, otherwise ""."""
    if _is_base64(text):
        return ""
    # The deserialiser counts bytes.
    length = len(text.encode())
    if length % 4:
        return f"Base64 encoded length is expected a multiple of 4 bytes but found: {length}"
    body = text[:-2] if text.endswith("==") else text.removesuffix("=")
    padding = len(text) - len(body)
    if padding and body[-1:] not in _LEFT_OVER_BITS_UNSET[padding]:
        return "Invalid last non-pad Base64 character dectected"
    illegal = _not_base64(body)
    return f"Invalid base 64 character: '{illegal.group() if illegal else '='}'"


def check_types(value: object) -> None:
    """Raise SerializationException if JSON of the wrong type stands anywhere in a value.

    Walks with a stack of its own, in document order: only the JSON parser bounds the nesting.
    """
    pending: list[object] = [value]
    while pending:
        value = pending.pop()
        if value is None:
            continue
        if not isinstance(value, dict):
            raise mistyped(value, "AttributeValue")
        nested: list[object] | None = None
        for kind, content in value.items():
            if content is None or (type(content) is str and (kind == "S" or kind == "N")):
                continue
            if kind in _SCALARS:
                _check_scalar(content, _SCALARS[kind])
            elif kind in _SETS:
                for member in _expect_list(content):
                    _check_scalar(member, _SETS[kind])
            elif kind == "L":
                nested = [*(nested or ()), *_expect_list(content)]
            elif kind == "M":
                if not isinstance(content, dict):
                    raise mistyped(content, "Map")
                nested = [*(nested or ()), *content.values()]
        if nested is not None:
            pending.extend(reversed(nested))


def _expect_list(content: object) -> list[object]:
    if not isinstance(content, list):
        raise mistyped(content, "List")
    return content


def _check_scalar(content: object, expected: str) -> None:
    if content is None:
        return
    if expected == "Boolean":
        if not isinstance(content, bool):
            raise mistyped(content, expected)
    elif not isinstance(content, str):
        raise mistyped(content, expected)
    elif expected == "Blob" and (refusal := base64_refusal(content)):
        raise SerializationException(refusal)
