"""Operands evaluated on an item."""

import pytest

from hashrange.expressions.operands import (
    AttributeOperand,
    PathOperand,
    SizeOperand,
    ValueOperand,
    path_operand,
)
from hashrange.model.values import Item

ITEM: Item = {"a": {"N": "1"}, "m": {"M": {"x": {"S": "y"}}}}


def test_an_attribute_a_path_and_a_value_give_what_they_name():
    assert path_operand(("a",)).evaluate(ITEM, {}) == {"N": "1"}
    assert path_operand(("m", "x")).evaluate(ITEM, {}) == {"S": "y"}
    assert ValueOperand(":v").evaluate(ITEM, {":v": {"S": "given"}}) == {"S": "given"}
    assert path_operand(("absent",)).evaluate(ITEM, {}) is None


def test_only_longer_paths_are_walked():
    assert isinstance(path_operand(("a",)), AttributeOperand)
    assert isinstance(path_operand(("a", 0)), PathOperand)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "abc"}, "3"),
        ({"S": "é𝄞"}, "3"),
        ({"B": "AQID"}, "3"),
        ({"L": [{"N": "1"}]}, "1"),
        ({"M": {}}, "0"),
        ({"SS": ["a", "b"]}, "2"),
    ],
)
def test_size_counts_utf16_units_bytes_or_elements(value, size):
    assert SizeOperand(ValueOperand(":v")).evaluate({}, {":v": value}) == {"N": size}


@pytest.mark.parametrize("value", [{"N": "1"}, {"BOOL": True}, {"NULL": True}])
def test_scalars_without_parts_have_no_size(value):
    assert SizeOperand(ValueOperand(":v")).evaluate({}, {":v": value}) is None
    assert SizeOperand(AttributeOperand("absent")).evaluate({}, {}) is None
