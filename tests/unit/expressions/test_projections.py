"""What projections return of an item."""

from __future__ import annotations

import pytest

from hashrange.api.items.arguments import read_get_arguments
from hashrange.model.values import Item

ITEM: Item = {
    "n": {"N": "5"},
    "l": {"L": [{"S": "a"}, {"S": "b"}, {"S": "c"}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "q"}}}, "l": {"L": [{"L": [{"N": "1"}]}]}}},
    "none_in": {"M": {}},
}


@pytest.mark.parametrize(
    ("text", "projected"),
    [
        ("n, absent", {"n": ITEM["n"]}),
        ("absent", {}),
        ("m", {"m": ITEM["m"]}),
        ("none_in", {"none_in": {"M": {}}}),
        ("m.x, m.y.z", {"m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "q"}}}}}}),
        ("m.absent, n", {"n": ITEM["n"]}),
        ("none_in.x", {}),
        ("l[2], l[0]", {"l": {"L": [{"S": "a"}, {"S": "c"}]}}),
        ("l[9]", {}),
        ("m.l[0][0]", {"m": {"M": {"l": {"L": [{"L": [{"N": "1"}]}]}}}}),
        ("n.x", {}),
        ("n[0]", {}),
        ("l.x", {}),
        ("m[0]", {}),
    ],
)
def test_projection_keeps_only_what_is_asked_for(text: str, projected: Item) -> None:
    projection = read_get_arguments({"ProjectionExpression": text})
    assert projection is not None
    assert projection.apply(ITEM) == projected


def test_projection_tells_its_attributes() -> None:
    projection = read_get_arguments({"ProjectionExpression": "n, m.x"})
    assert projection is not None
    assert projection.attributes == {"n", "m"}
    assert projection.nested_attributes == {"m"}


def test_attributes_to_get_are_names_not_paths() -> None:
    projection = read_get_arguments({"AttributesToGet": ["a.b", "n"]})
    assert projection is not None
    assert projection.apply({"a.b": {"S": "x"}, "a": {"M": {"b": {"S": "y"}}}}) == {
        "a.b": {"S": "x"}
    }
