"""Items as text Ion, in the form of DynamoDB's exports. Pure.

    $ion_1_0 {Item:{name:"text",number:1.,set:$dynamodb_NS::[1.,2.],bytes:{{AAE=}},nothing:null}}

Numbers are decimals, so that they keep all their digits.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from hashrange.model.values import Item, Value

_is_identifier: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_KEYWORDS: Final = frozenset(("null", "true", "false", "nan"))
_SETS: Final = {"SS": "S", "NS": "N", "BS": "B"}


def ion_line(members: dict[str, Item]) -> bytes:
    """Return a line that holds items under names such as Item or NewImage."""
    content = ",".join(f"{name}:{ion_item(item)}" for name, item in members.items())
    return f"$ion_1_0 {{{content}}}\n".encode()


def ion_item(item: Item) -> str:
    """Return an item as a struct."""
    return "{" + ",".join(f"{_field(name)}:{ion_value(item[name])}" for name in item) + "}"


def ion_value(value: Value) -> str:
    """Return an attribute value."""
    ((kind, content),) = value.items()
    if kind in _SETS:
        members = ",".join(_scalar(_SETS[kind], member) for member in content)
        return f"$dynamodb_{kind}::[{members}]"
    if kind == "M":
        return ion_item(content)
    if kind == "L":
        return "[" + ",".join(ion_value(member) for member in content) + "]"
    return _scalar(kind, content)


def _scalar(kind: str, content: Any) -> str:
    if kind == "S":
        # Ion has the escapes of JSON, and takes all other characters as they are.
        return orjson.dumps(content).decode()
    if kind == "N":
        return _decimal(content)
    if kind == "B":
        return f"{{{{{content}}}}}"
    if kind == "BOOL":
        return "true" if content else "false"
    return "null"


def _decimal(text: str) -> str:
    text = text.replace("E", "d").replace("+", "")
    return text if "." in text or "d" in text else text + "."


def _field(name: str) -> str:
    if _is_identifier(name) is not None and name not in _KEYWORDS:
        return name
    return orjson.dumps(name).decode()
