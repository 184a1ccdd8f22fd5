"""Equality and order of values."""

from __future__ import annotations

from typing import Any

import pytest

from hashrange.model.comparison import compare, equal
from hashrange.model.values import Value


def test_equality_ignores_the_order_of_sets_at_any_depth() -> None:
    left = {"M": {"a": {"L": [{"SS": ["x", "y"]}, {"N": "1"}]}, "b": {"BOOL": True}}}
    right: dict[str, Any] = {
        "M": {"b": {"BOOL": True}, "a": {"L": [{"SS": ["y", "x"]}, {"N": "1"}]}}
    }
    assert equal(left, right)
    right["M"]["a"]["L"][0]["SS"] = ["y", "z"]
    assert not equal(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"SS": ["1"]}, {"NS": ["1"]}),
        ({"SS": ["1"]}, {"SS": ["1", "2"]}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"L": []}, {"L": [{"S": "a"}]}),
        ({"M": {"a": {"S": "x"}}}, {"M": {"b": {"S": "x"}}}),
        ({"BOOL": True}, {"NULL": True}),
    ],
)
def test_values_of_other_type_or_content_differ(left: Value, right: Value) -> None:
    assert not equal(left, right)
    assert not equal(right, left)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ({"S": ""}, {"S": "a"}),
        ({"S": "Z"}, {"S": "a"}),
        ({"S": "\uffff"}, {"S": "\U00010000"}),
        ({"N": "-10"}, {"N": "-9.5"}),
        ({"N": "9"}, {"N": "10"}),
        ({"B": "AA=="}, {"B": "/w=="}),
        ({"B": "AA=="}, {"B": "AAA="}),
    ],
)
def test_order_is_of_bytes_and_numbers(low: Value, high: Value) -> None:
    assert compare(low, high) == -1
    assert compare(high, low) == 1
    assert compare(low, dict(low)) == 0
