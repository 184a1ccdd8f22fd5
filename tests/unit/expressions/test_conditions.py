"""Conditions on one item that has an attribute of every type."""

from __future__ import annotations

import pytest

from hashrange.api.items.arguments import read_scan_arguments
from hashrange.expressions.conditions import Condition
from hashrange.model.values import Item, Value

ITEM: Item = {
    "n": {"N": "5"},
    "s": {"S": "héllo"},
    "clef": {"S": "é𝄞"},
    "b": {"B": "AQID"},
    "t": {"BOOL": True},
    "nul": {"NULL": True},
    "l": {"L": [{"S": "a"}, {"S": "b"}, {"S": "c"}]},
    "m": {"M": {"x": {"N": "1"}, "deep": {"L": [{"N": "1"}, {"L": [{"S": "d"}]}]}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["YQ==", "Yg=="]},
    "el": {"L": []},
    "em": {"M": {}},
}
VALUES: dict[str, Value] = {
    ":one": {"N": "1"},
    ":two": {"N": "2"},
    ":three": {"N": "3"},
    ":five": {"N": "5"},
    ":six": {"N": "6"},
    ":a": {"S": "a"},
    ":h": {"S": "h"},
    ":ell": {"S": "éll"},
    ":hello": {"S": "héllo"},
    ":empty": {"S": ""},
    ":b1": {"B": "AQ=="},
    ":b23": {"B": "AgM="},
    ":ba": {"B": "YQ=="},
    ":true": {"BOOL": True},
    ":false": {"BOOL": False},
    ":null": {"NULL": True},
    ":ba_set": {"SS": ["b", "a"]},
    ":abc": {"L": [{"S": "a"}, {"S": "b"}, {"S": "c"}]},
    ":d": {"L": [{"S": "d"}]},
    ":typeS": {"S": "S"},
    ":typeL": {"S": "L"},
}


def condition(text: str) -> Condition:
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    used = {name: dict(value) for name, value in VALUES.items() if name in words}
    request: dict[str, object] = {"FilterExpression": text}
    if used:
        request["ExpressionAttributeValues"] = used
    bound = read_scan_arguments(request).filter
    assert bound is not None
    return bound


@pytest.mark.parametrize(
    "text",
    [
        "n = :five",
        ":five = n",
        "n <> :six",
        "q <> :five",  # what is absent is unequal to everything
        "q <> r",
        "NOT q = r",
        "n < :six",
        "n <= :five",
        "n >= :five",
        "s > :h",
        "b > :b1",
        "n BETWEEN :one AND :six",
        "n BETWEEN m.x AND :six",
        "NOT n BETWEEN q AND :six",
        "n IN ( :one , :five )",
        "l IN ( :abc )",
        "ss = :ba_set",
        "l = :abc",
        "t = :true",
        "t <> :false",
        "nul = :null",
        "m.deep[1] = :d",
        "l[0] = :a",
        "size(s) = :five",
        "size(clef) = :three",  # UTF-16 units
        "size(b) = :three",
        "size(l) = :three",
        "size(m) = :two",
        "size(ss) = :two",
        "size(em) = size(el)",
        "NOT size(n) >= :one",
        "contains(s, :ell )",
        "contains(s, :empty )",
        "contains(ss, :a )",
        "contains(ns, :one )",
        "contains(l, :a )",
        "contains(m.deep, :d )",
        "contains(b, :b23 )",
        "contains(bs, :ba )",
        "begins_with(s, :h )",
        "begins_with(s, :empty )",
        "begins_with(b, :b1 )",
        "attribute_type(s, :typeS )",
        "attribute_type(l, :typeL )",
        "attribute_exists(m.x)",
        "attribute_exists(l[2])",
        "attribute_not_exists(l[3])",
        "attribute_not_exists(m.q.r)",
        "attribute_not_exists(n.x)",
        "q = :five OR n = :five AND m.x = :one",
        "m.x = :one AND (q = :five OR n = :five )",
        "NOT m.x = :two AND n = :five",
    ],
)
def test_condition_holds(text: str) -> None:
    assert condition(text).matches(ITEM)


@pytest.mark.parametrize(
    "text",
    [
        "n <> :five",
        "q = r",
        "q = :five",
        "q < :five",
        "s < :five",
        "n < :h",
        "t < n",
        "l < m",
        "n BETWEEN :a AND :hello",
        "q BETWEEN :one AND :six",
        "q IN ( :one )",
        "n IN ( :one , :two )",
        "size(n) = :one",
        "size(t) = :one",
        "size(q) >= :one",
        "contains(ss, :one )",
        "contains(ns, :a )",
        "contains(ss, :ba_set )",
        "contains(m, :a )",
        "contains(n, :five )",
        "contains(q, :a )",
        "begins_with(n, :h )",
        "begins_with(s, :b1 )",
        "attribute_type(s, :typeL )",
        "attribute_type(q, :typeS )",
        "l = el",
        "NOT (m.x = :one OR n = :six )",
        "q = :five OR n = :five AND m.x = :two",
    ],
)
def test_condition_does_not_hold(text: str) -> None:
    assert not condition(text).matches(ITEM)


def test_condition_tells_the_attributes_it_mentions() -> None:
    bound = condition("m.x = :one AND NOT contains(l, s)")
    assert bound.attributes == {"m", "l", "s"}
    assert bound.nested_attributes == {"m"}


def test_absent_item_is_an_empty_one() -> None:
    assert condition("attribute_not_exists(pk)").matches({})
