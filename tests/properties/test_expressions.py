"""Expressions: only AWS's refusals escape, and conditions mean what they say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hashrange.api.items.arguments import (
    read_get_arguments,
    read_query_arguments,
    read_scan_arguments,
    read_write_arguments,
)
from hashrange.errors import ValidationException
from hashrange.expressions.lexer import END, tokenize
from hashrange.model.values import Item, Value

_WORDS = [
    *["a", "b", "#n", ":v", ":w", "(", ")", "[", "]", ".", ",", "=", "<", ">", "<=", ">=", "<>"],
    *["+", "-", "0", "12", "AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"],
    *["size", "contains", "begins_with", "attribute_exists", "attribute_type", "if_not_exists"],
    *["list_append", "status", "!", '"', "é", " "],
]
_REPEATED = ["(", "NOT ", "a.", "a[", "size(", "(a=b AND ", "a = ((", "SET a = ("]
_texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join),
    st.lists(st.sampled_from(_WORDS), max_size=25).map("".join),
    st.builds(str.__mul__, st.sampled_from(_REPEATED), st.integers(0, 1000)),
)
_names = {"#n": "n"}
_values: dict[str, Value] = {":v": {"N": "1"}, ":w": {"S": "x"}}


def _refused_or_read(read: Callable[[dict[str, Any]], object], parameter: str, text: str) -> None:
    for variables in (
        {},
        {"ExpressionAttributeNames": _names, "ExpressionAttributeValues": _values},
    ):
        request = {parameter: text, **variables}
        with suppress(ValidationException):
            read(request)


@given(_texts)
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    _refused_or_read(read_scan_arguments, "FilterExpression", text)
    _refused_or_read(read_query_arguments, "KeyConditionExpression", text)
    _refused_or_read(read_get_arguments, "ProjectionExpression", text)
    _refused_or_read(
        lambda request: read_write_arguments(request, kind="update"), "UpdateExpression", text
    )


@given(_texts)
def test_tokens_cover_the_text(text: str) -> None:
    tokens = tokenize(text)
    assert tokens[-1].kind == END
    position = 0
    for token in tokens:
        assert text[position : token.start].strip(" \t\r\n") == ""
        if token.kind != END:
            assert text[token.start : token.end] == token.text
        position = token.end


# Trees of conditions, printed with as few or as many parentheses as the grammar allows, and
# evaluated by a second, plainer reading of the documentation.
Tree = tuple[Any, ...]
_operands = st.sampled_from(["a", "b", "m.x", "l[0]", ":v", ":w"])
_comparisons: st.SearchStrategy[Tree] = st.one_of(
    st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), _operands, _operands).filter(
        lambda tree: tree[1] != tree[2]
    ),
    st.tuples(st.just("exists"), st.sampled_from(["a", "m.x", "l[1]"])),
)
_trees: st.SearchStrategy[Tree] = st.recursive(
    _comparisons,
    lambda inner: st.one_of(
        st.tuples(st.just("NOT"), inner),
        st.tuples(st.sampled_from(["AND", "OR"]), inner, inner),
    ),
    max_leaves=8,
)
_PRECEDENCE = {"OR": 1, "AND": 2, "NOT": 3}


def _print(tree: Tree) -> str:
    operator = tree[0]
    if operator == "exists":
        return f"attribute_exists({tree[1]})"
    if operator not in _PRECEDENCE:
        return f"{tree[1]} {operator} {tree[2]}"
    parts = [
        f"({_print(part)})" if _PRECEDENCE.get(part[0], 4) < _PRECEDENCE[operator] else _print(part)
        for part in tree[1:]
    ]
    return f"NOT {parts[0]}" if operator == "NOT" else f" {operator} ".join(parts)


def _operand(name: str, item: Item) -> Value | None:
    if name in _values:
        return _values[name]
    if name == "m.x":
        return item.get("m", {}).get("M", {}).get("x")
    if name.startswith("l["):
        elements = item.get("l", {}).get("L", [])
        index = int(name[2:-1])
        return elements[index] if index < len(elements) else None
    return item.get(name)


def _holds(tree: Tree, item: Item) -> bool:
    operator = tree[0]
    if operator == "NOT":
        return not _holds(tree[1], item)
    if operator == "AND":
        return _holds(tree[1], item) and _holds(tree[2], item)
    if operator == "OR":
        return _holds(tree[1], item) or _holds(tree[2], item)
    if operator == "exists":
        return _operand(tree[1], item) is not None
    left, right = _operand(tree[1], item), _operand(tree[2], item)
    if left is None or right is None or left.keys() != right.keys():
        return bool(operator == "<>")
    ((kind, one),) = left.items()
    ((_, other),) = right.items()
    if kind == "N":
        one, other = int(one), int(other)
    results: dict[str, bool] = {
        "=": one == other, "<>": one != other, "<": one < other, "<=": one <= other,
        ">": one > other, ">=": one >= other,
    }  # fmt: skip
    return results[operator]


_scalars: st.SearchStrategy[Value] = st.one_of(
    st.integers(-2, 2).map(lambda number: {"N": str(number)}),
    st.sampled_from(["", "w", "x", "y"]).map(lambda text: {"S": text}),
)
_items: st.SearchStrategy[Item] = st.fixed_dictionaries(
    {},
    optional={
        "a": _scalars,
        "b": _scalars,
        "m": st.fixed_dictionaries({}, optional={"x": _scalars}).map(
            lambda content: {"M": content}
        ),
        "l": st.lists(_scalars, max_size=2).map(lambda elements: {"L": elements}),
    },
)


@given(_trees, _items)
def test_conditions_agree_with_a_plain_reading(tree: Tree, item: Item) -> None:
    text = _print(tree)
    used = {name: dict(value) for name, value in _values.items() if name in text}
    request: dict[str, Any] = {"FilterExpression": text}
    if used:
        request["ExpressionAttributeValues"] = used
    condition = read_scan_arguments(request).filter
    assert condition is not None
    assert condition.matches(item) == _holds(tree, item)
