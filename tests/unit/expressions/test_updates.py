"""Updates of one item, by what they make of it or refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hashrange.api.items.arguments import read_write_arguments
from hashrange.errors import ValidationException
from hashrange.expressions.updates import Update
from hashrange.model.values import Item, Value

ITEM: Item = {
    "n": {"N": "5"},
    "s": {"S": "x"},
    "l": {"L": [{"S": "a"}, {"S": "b"}, {"S": "c"}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "q"}}}}},
    "ss": {"SS": ["a", "b"]},
}
VALUES: dict[str, Value] = {
    ":one": {"N": "1"},
    ":v": {"S": "v"},
    ":w": {"S": "w"},
    ":list": {"L": [{"S": "d"}]},
    ":a": {"SS": ["a"]},
    ":abc": {"SS": ["a", "b", "c"]},
    ":numbers": {"NS": ["1"]},
}

ABSENT = "The provided expression refers to an attribute that does not exist in the item"
INVALID_PATH = "The document path provided in the update expression is invalid for update"
INCORRECT = "An operand in the update expression has an incorrect data type"


def update(text: str, values: dict[str, Value] | None = None) -> Update:
    if values is None:
        words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
        values = {name: copy.deepcopy(value) for name, value in VALUES.items() if name in words}
    request: dict[str, Any] = {"UpdateExpression": text}
    if values:
        request["ExpressionAttributeValues"] = values
    bound = read_write_arguments(request, kind="update").update
    assert bound is not None
    return bound


def strings(*texts: str) -> Value:
    return {"L": [{"S": text} for text in texts]}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("SET a = :v", {"a": {"S": "v"}}),
        ("SET n = s, s = n", {"n": {"S": "x"}, "s": {"N": "5"}}),
        ("SET n = n + :one", {"n": {"N": "6"}}),
        ("SET n = (m.x - n)", {"n": {"N": "-4"}}),
        ("SET a = if_not_exists(a, :v )", {"a": {"S": "v"}}),
        ("SET n = if_not_exists(n, :v )", {}),
        ("SET c = if_not_exists(c, if_not_exists(d, :one )) + :one", {"c": {"N": "2"}}),
        ("SET l = list_append(l, :list )", {"l": strings("a", "b", "c", "d")}),
        ("SET a = list_append(if_not_exists(a, :list ), l)", {"a": strings("d", "a", "b", "c")}),
        ("SET l[1] = :v", {"l": strings("a", "v", "c")}),
        ("SET l[9] = :v", {"l": strings("a", "b", "c", "v")}),
        ("SET l[9] = :v, l[7] = :w", {"l": strings("a", "b", "c", "w", "v")}),
        ("SET l[0] = l[1], l[1] = l[0]", {"l": strings("b", "a", "c")}),
        ("REMOVE l[0], l[1]", {"l": strings("c")}),
        ("REMOVE l[2], l[9]", {"l": strings("a", "b")}),
        ("SET l[1] = :v REMOVE l[0]", {"l": strings("v", "c")}),
        ("SET l[9] = :v REMOVE l[3]", {"l": strings("a", "b", "c", "v")}),
        ("SET m.q = :v", {"m": {"M": {**ITEM["m"]["M"], "q": {"S": "v"}}}}),
        ("REMOVE m.x, q, m.nothing", {"m": {"M": {"y": ITEM["m"]["M"]["y"]}}}),
        ("ADD n :one", {"n": {"N": "6"}}),
        ("ADD a :one", {"a": {"N": "1"}}),
        ("ADD ss :abc", {"ss": {"SS": ["a", "b", "c"]}}),
        ("ADD a :a", {"a": {"SS": ["a"]}}),
        ("ADD l[7] :one", {"l": {"L": [*strings("a", "b", "c")["L"], {"N": "1"}]}}),
        ("DELETE ss :a", {"ss": {"SS": ["b"]}}),
        ("DELETE a :a", {}),
        ("DELETE l[9] :a", {}),
        ("set a = :v remove s add n :one delete ss :a",
         {"a": {"S": "v"}, "s": None, "n": {"N": "6"}, "ss": {"SS": ["b"]}}),
        ("DELETE ss :abc", {"ss": None}),
        ("REMOVE s", {"s": None}),
    ],
)  # fmt: skip
def test_update_makes_a_new_item(text: str, changed: dict[str, Value | None]) -> None:
    before = copy.deepcopy(ITEM)
    merged = {**ITEM, **changed}
    assert update(text).apply(ITEM) == {
        name: value for name, value in merged.items() if value is not None
    }
    assert before == ITEM


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET a = q", ABSENT),
        ("SET a = l[9]", ABSENT),
        ("SET a = q + :one", ABSENT),
        ("SET a = if_not_exists(q, r)", ABSENT),
        ("SET n = if_not_exists(n, q)", ABSENT),  # the default is read in any case
        ("SET a = s + :one", INCORRECT),
        ("SET a = if_not_exists(s, :v ) + :one", INCORRECT),
        ("SET a = list_append(s, :list )", INCORRECT),
        ("ADD s :one", INCORRECT),
        ("ADD ss :numbers", INCORRECT),
        ("DELETE n :a", INCORRECT),
        ("SET q.r = :v", INVALID_PATH),
        ("SET q.r = t", INVALID_PATH),
        ("SET n.x = :v", INVALID_PATH),
        ("SET l.x = :v", INVALID_PATH),
        ("SET m[0] = :v", INVALID_PATH),
        ("SET m.q.r = :v", INVALID_PATH),
        ("REMOVE q.r", INVALID_PATH),
        ("REMOVE l.x", INVALID_PATH),
        ("ADD q.r :one", INVALID_PATH),
        ("DELETE q.r :a", INVALID_PATH),
    ],
)
def test_update_is_refused_for_this_item(text: str, message: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        update(text).apply(ITEM)
    assert refusal.value.message == message


def test_update_cannot_nest_an_item_too_deep() -> None:
    value: Value = {"S": "leaf"}
    for _ in range(30):
        value = {"M": {"n": value}}
    assert update("SET m.y = :v", {":v": copy.deepcopy(value)}).apply(ITEM)
    with pytest.raises(ValidationException, match="Nesting Levels have exceeded"):
        update("SET m.y.z = :v", {":v": value}).apply(ITEM)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET n = :v, a = :v", {"n": {"N": "5"}}, {"n": {"S": "v"}, "a": {"S": "v"}}),
        ("SET m.x = :v, m.y.z = :w",
         {"m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "q"}}}}}},
         {"m": {"M": {"x": {"S": "v"}, "y": {"M": {"z": {"S": "w"}}}}}}),
        ("SET l[1] = :v", {"l": strings("b")}, {"l": strings("v")}),
        ("REMOVE s, q", {"s": {"S": "x"}}, {}),
    ],
)  # fmt: skip
def test_updated_gives_the_parts_at_the_paths(
    text: str, old: dict[str, Value], new: dict[str, Value]
) -> None:
    bound = update(text)
    assert bound.updated(ITEM) == old
    assert bound.updated(bound.apply(ITEM)) == new


def test_update_tells_the_attributes_it_may_change() -> None:
    bound = update("SET m.x = n REMOVE s")
    assert bound.attributes == {"m", "s"}
    assert bound.nested_attributes == {"m"}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("SET b = :v", 3 + 19 + 1 + 1),
        ("SET d.leaf = :v", 3 + 19 + 1 + 4 + 4 + 1),
        ("SET d[10] = :v", 3 + 19 + 1 + 4 + 2 + 1),
        ("SET c = m.z", 3 + 19 + 1 + 1 + 14 + 1 + 14 + 1),
        ("SET n = n + :one", 3 + 19 + 1 + 34 + 16 + 2),
        ("SET n = n - :one", 3 + 19 + 1 + 37 + 16 + 2),
        ("SET c = if_not_exists(c, :v )", 3 + 19 + 1 + 39 + 16 + 1),
        ("SET l = list_append(l, :list )", 3 + 19 + 1 + 37 + 16 + 3 + 1 + 1),
        ("ADD ab :one", 3 + 19 + 2 + 2),
        ("REMOVE r", 3 + 1 + 1),
        ("REMOVE m.yy, l[10]", 3 + (1 + 1 + 4 + 2) + (1 + 1 + 4 + 2)),
        ("DELETE ss :abc", 3 + 1 + 2),
        ("SET c = :v, d = :v", 3 + 21 + 21),
    ],
)
def test_update_expression_costs_what_update_item_counts(text: str, cost: int) -> None:
    assert update(text).cost == cost
