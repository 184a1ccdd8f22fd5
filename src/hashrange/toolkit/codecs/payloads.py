"""Attribute values as bytes: one byte for the type, then the content."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.values import Wire

_BINARY: Final = "$binary"


def to_payload(value: Wire) -> bytes | None:
    """Return a text, binary, number, list, map or set as bytes; None for BOOL and NULL."""
    ((kind, content),) = value.items()
    if kind == "S":
        return b"S" + str(content).encode()
    if kind == "B":
        return b"B" + bytes(content)
    if kind in ("BOOL", "NULL"):
        return None
    return b"J" + json.dumps(value, default=_binary, separators=(",", ":")).encode()


def from_payload(payload: bytes) -> Wire:
    """Return the attribute value of a payload."""
    kind, content = payload[:1], payload[1:]
    if kind == b"S":
        return {"S": content.decode()}
    if kind == b"B":
        return {"B": content}
    if kind == b"J":
        value: Wire = json.loads(content, object_hook=_unbinary)
        return value
    raise ConversionError(f"there is no payload of type {kind!r}")


def _binary(content: Any) -> dict[str, str]:
    return {_BINARY: base64.b64encode(bytes(content)).decode()}


def _unbinary(document: dict[str, Any]) -> Any:
    if document.keys() == {_BINARY} and isinstance(document[_BINARY], str):
        return base64.b64decode(document[_BINARY])
    return document
