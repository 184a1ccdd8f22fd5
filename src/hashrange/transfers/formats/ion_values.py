"""Reads Ion, text or binary, back into items, with the library `amazon.ion` (an extra)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, Protocol

from hashrange.model.values import Item, Value

_SETS: Final = {"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}


class Readable(Protocol):
    """What can be read like a file."""

    def read(self, size: int = -1, /) -> bytes: ...


class IonMissingError(Exception):
    """The library is not installed."""


def read_ion(file: Readable) -> Iterator[Any]:
    """Yield the top-level values of an Ion stream, in any encoding."""
    try:
        from amazon.ion import simpleion
    except ImportError as error:
        raise IonMissingError("Ion input needs amazon.ion: pip install amazon-ion") from error
    yield from simpleion.load(file, single_value=False, parse_eagerly=False)


def ion_to_item(struct: Any) -> Item:
    """Return the item of an Ion struct; raises ValueError for what no attribute can hold."""
    return {str(name): _value(content) for name, content in struct.items()}


def _value(content: Any) -> Value:
    annotations = [symbol.text for symbol in getattr(content, "ion_annotations", ())]
    kind = next((_SETS[name] for name in annotations if name in _SETS), None)
    type_name = getattr(getattr(content, "ion_type", None), "name", "")
    if kind is not None:
        return {kind: [_text(member) for member in content]}
    if type_name == "NULL" or content is None:
        return {"NULL": True}
    if type_name == "BOOL":
        return {"BOOL": bool(content)}
    if type_name in ("INT", "DECIMAL", "FLOAT"):
        return {"N": _text(content)}
    if type_name in ("STRING", "SYMBOL"):
        return {"S": _text(content)}
    if type_name in ("BLOB", "CLOB"):
        return {"B": _text(content)}
    if type_name in ("LIST", "SEXP"):
        return {"L": [_value(member) for member in content]}
    if type_name == "STRUCT":
        return {"M": ion_to_item(content)}
    raise ValueError(f"Ion values of type {type_name.lower()} are not attribute values")


def _text(content: Any) -> str:
    """Return a scalar as DynamoDB JSON writes it."""
    if isinstance(content, bytes):
        return base64.b64encode(content).decode()
    if isinstance(content, Decimal):
        return format(content, "f") if abs(content.adjusted()) < 128 else str(content)
    text = getattr(content, "text", None)
    return str(content) if text is None else str(text)
