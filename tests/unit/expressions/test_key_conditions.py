"""Key conditions fitted to keys of one or more parts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hashrange.api.items.arguments import read_query_arguments
from hashrange.errors import ValidationException
from hashrange.expressions.key_conditions import KeyRange
from hashrange.model.schema import KeyPart

P = (KeyPart("p", "S"),)
K = (KeyPart("k", "N"),)
PARTS = tuple(KeyPart(name, "S") for name in "abcd")
VALUES = {
    ":p": {"S": "x"},
    ":n": {"N": "1"},
    ":m": {"N": "2"},
    ":s": {"S": "y"},
    ":empty": {"S": ""},
    ":bool": {"BOOL": True},
}
MISMATCH = (
    "One or more parameter values were invalid: Condition parameter type does not match schema type"
)


def bind(text: str, partition: tuple[KeyPart, ...] = P, sort: tuple[KeyPart, ...] = K) -> KeyRange:
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    values = {name: copy.deepcopy(value) for name, value in VALUES.items() if name in words}
    request: dict[str, Any] = {"KeyConditionExpression": text, "ExpressionAttributeValues": values}
    condition = read_query_arguments(request).key_condition
    assert condition is not None
    return condition.bind(partition, sort)


def members(keys: KeyRange) -> tuple[object, ...]:
    return keys.partition, keys.sort_equal, keys.operator, keys.operands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p = :p", (({"S": "x"},), (), None, ())),
        ("p = :p AND k = :n", (({"S": "x"},), ({"N": "1"},), None, ())),
        ("k = :n AND p = :p", (({"S": "x"},), ({"N": "1"},), None, ())),
        ("( p = :p AND ( k < :n ) )", (({"S": "x"},), (), "<", ({"N": "1"},))),
        (":p = p AND :n < k", (({"S": "x"},), (), ">", ({"N": "1"},))),
        (":n >= k AND p = :p", (({"S": "x"},), (), "<=", ({"N": "1"},))),
        ("p = :p AND k BETWEEN :n AND :m",
         (({"S": "x"},), (), "BETWEEN", ({"N": "1"}, {"N": "2"}))),
    ],
)  # fmt: skip
def test_conditions_make_a_range(text: str, expected: tuple[object, ...]) -> None:
    assert members(bind(text)) == expected


def test_begins_with_needs_a_sort_key_it_can_begin() -> None:
    keys = bind("p = :p AND begins_with(k, :s )", sort=(KeyPart("k", "S"),))
    assert members(keys) == (({"S": "x"},), (), "begins_with", ({"S": "y"},))
    with pytest.raises(ValidationException, match=MISMATCH):
        bind("p = :p AND begins_with(k, :s )")


def test_several_sort_attributes_take_equalities_then_one_range() -> None:
    keys = bind("b = :s AND p = :p AND begins_with(c, :s ) AND a = :p", sort=PARTS)
    assert members(keys) == (
        ({"S": "x"},),
        ({"S": "x"}, {"S": "y"}),
        "begins_with",
        ({"S": "y"},),
    )


def test_several_partition_attributes_are_in_schema_order() -> None:
    keys = bind("b = :s AND a = :p", partition=PARTS[:2], sort=())
    assert keys.partition == ({"S": "x"}, {"S": "y"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = :n", "Query condition missed key schema element: p"),
        ("x = :n", "Query condition missed key schema element: p"),
        ("p = :p AND x = :n", "Query condition missed key schema element: k"),
        ("p > :p", "Query key condition not supported"),
        ("begins_with(p, :p )", "Query key condition not supported"),
        ("p = :n", MISMATCH),
        ("p = :p AND k = :s", MISMATCH),
        ("p = :p AND k = :bool", MISMATCH),
        ("p = :empty",
         "One or more parameter values are not valid. The AttributeValue for a key attribute "
         "cannot contain an empty string value. Key: p"),
        ("p = :p AND k > :n AND x = :m",
         "The number of query conditions (3) exceeds the number of key attributes defined in the "
         "schema (2)"),
    ],
)  # fmt: skip
def test_conditions_that_do_not_fit_the_key_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        bind(text)
    assert refusal.value.message == message


@pytest.mark.parametrize(
    ("text", "loose", "last"),
    [
        ("p = :p AND b = :s", "a", "b"),
        ("p = :p AND a = :s AND c = :s", "b", "c"),
        ("p = :p AND a = :s AND b > :s AND c = :s", "b", "c"),
        ("p = :p AND d = :s", "a, b, c", "d"),
    ],
)
def test_sort_attributes_have_no_gap(text: str, loose: str, last: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        bind(text, sort=PARTS)
    assert refusal.value.message == (
        f"RANGE key attributes {loose} must have equality conditions specified in the query "
        f"because a condition is present on key attribute {last}"
    )
