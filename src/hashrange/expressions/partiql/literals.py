"""Translates literals of a statement to attribute values, with AWS's errors for invalid ones.

Messages name the place inside a value as a path from `root`, and most of them a token.
"""

from __future__ import annotations

from typing import Any, Final

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.lexer import ION, NUMBER, STRING
from hashrange.expressions.partiql.tree import (
    Literal,
    Missing,
    Node,
    Operation,
    PathTree,
    Select,
    Sequence,
    Struct,
)
from hashrange.model import numbers
from hashrange.model.sets import sort_members
from hashrange.model.values import OLDER, Value, check_value

EMPTY_COMPONENT: Final = "Path component cannot be an empty string"
_BAG_MEMBER: Final = (
    "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
)
_ROOT: Final = "root"


def is_literal(node: Node) -> bool:
    """Tell whether a node is a literal, not a name, function or operator."""
    return isinstance(node, Literal | Sequence | Struct)


def literal_value(node: Node) -> Value:
    """Return the value a node is written as, checked and normalised."""
    value = _value(node, _ROOT, _ROOT)
    check_value(value, OLDER)
    return value


def _value(node: Node, place: str, number_place: str) -> Value:
    if isinstance(node, Literal):
        return _scalar(node, place, number_place)
    if isinstance(node, Sequence):
        if node.is_bag:
            return _set(node, number_place)
        return {
            "L": [
                _value(member, f"{place}.{index}", f"{number_place}[{index}]")
                for index, member in enumerate(node.members)
            ]
        }
    if isinstance(node, Struct):
        return {"M": _map(node, place, number_place)}
    raise ValidationException(
        f"Unsupported data type: {node.title} under key {place}{node.token.place}"
    )


def _scalar(node: Literal, place: str, number_place: str) -> Value:
    token = node.token
    if token.kind == STRING:
        return {"S": token.text}
    if token.kind == NUMBER:
        return {"N": _number(node, number_place)}
    if token.kind == ION:
        raise ValidationException(
            f"Ion Literals are not supported: {_ion_type(token.text)} under key "
            f"{place}{token.place}"
        )
    return {"NULL": True} if token.kind == "null" else {"BOOL": token.kind == "true"}


def _number(node: Literal, place: str) -> str:
    try:
        return numbers.normalize(("-" if node.negative else "") + node.token.text)
    except ValidationException as error:
        raise ValidationException(f"{error.message} under {place}") from None


def _ion_type(text: str) -> str:
    content = text[1:-1].strip()
    if content.startswith("{{"):
        return "CLOB" if content[2:].lstrip().startswith(('"', "'''")) else "BLOB"
    if content.startswith('"'):
        return "STRING"
    if content[:1].isdigit() or content[:1] == "-":
        return "INT" if content.lstrip("-").isdigit() else "DECIMAL"
    return "SYMBOL"


def _set(node: Sequence, place: str) -> Value:
    if not node.members:
        raise ValidationException("Empty bags are not supported")
    kinds: set[str] = set()
    members: list[Any] = []
    for index, member in enumerate(node.members):
        kind = member.token.kind if isinstance(member, Literal) else ""
        kinds.add(kind)
        if kind not in (STRING, NUMBER) or len(kinds) > 1:
            raise ValidationException(_BAG_MEMBER + member.token.place)
        ((_, content),) = _value(member, place, f"{place}[{index}]").items()
        members.append(content)
    type = "SS" if STRING in kinds else "NS"
    sort_members(type, members)
    return {type: members}


def _map(node: Struct, place: str, number_place: str) -> dict[str, Value]:
    members: dict[str, Value] = {}
    for name_node, member in node.members:
        name = member_name(name_node, place)
        if name in members:
            raise ValidationException(
                f"Duplicate keys in tuple. Key: {name} under {place}{node.token.place}"
            )
        members[name] = _value(member, f"{place}.{name}", f"{number_place}.{name}")
    return members


def member_name(node: Node, place: str = _ROOT) -> str:
    """Return the name of a member of a map."""
    if not isinstance(node, Literal) or node.token.kind != STRING:
        raise ValidationException(
            f"Tuple keys must be of type String. Actual type: {_key_type(node)} under "
            f"{place}{node.token.place}"
        )
    if not node.token.text:
        raise ValidationException(EMPTY_COMPONENT)
    return node.token.text


def _key_type(node: Node) -> str:
    if not isinstance(node, Literal):
        return node.title
    if node.token.kind == NUMBER:
        return "INT" if node.token.text.isdigit() else "DECIMAL"
    return "NULL" if node.token.kind == "null" else "BOOL"


def unsupported_attribute(node: Node) -> ValidationException:
    """Return the error for an attribute of an item that is not a value."""
    shown, place = node.token.text, node.token.place
    if isinstance(node, Operation):
        shown = node.operator
    elif isinstance(node, PathTree):
        shown, place = "PATH", ""
    elif isinstance(node, Missing | Select):
        shown = node.token.text.upper()
    return ValidationException(f"Unsupported data type: {shown} under key {_ROOT}{place}")
