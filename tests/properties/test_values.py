"""Values: any JSON is accepted or refused properly, and sizes add up."""

from __future__ import annotations

import copy
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.errors import ClientError, SerializationException
from hashrange.model import comparison, values
from hashrange.model.values import Item, Value

KINDS = ["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL", "X", ""]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.sampled_from(["1", "1.0", "-0", "1e200", "AA==", "AB==", "A"]),
)
names = st.one_of(st.sampled_from(KINDS), st.text(max_size=3))
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(names, inner, max_size=4),
        st.dictionaries(st.sampled_from(KINDS), inner, min_size=1, max_size=1),
    ),
    max_leaves=25,
)

texts = st.text(max_size=8)
numerals = st.integers(-(10**20), 10**20).map(str)
binaries = st.binary(max_size=8).map(lambda content: b64encode(content).decode())
good_values: st.SearchStrategy[Value] = st.recursive(
    st.one_of(
        texts.map(lambda text: {"S": text}),
        numerals.map(lambda text: {"N": text}),
        binaries.map(lambda text: {"B": text}),
        st.booleans().map(lambda flag: {"BOOL": flag}),
        st.just({"NULL": True}),
        st.lists(texts, min_size=1, max_size=4, unique=True).map(lambda list: {"SS": list}),
        st.lists(numerals, min_size=1, max_size=4, unique=True).map(lambda list: {"NS": list}),
        st.lists(binaries, min_size=1, max_size=4, unique=True).map(lambda list: {"BS": list}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda list: {"L": list}),
        st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=4).map(
            lambda map: {"M": map}
        ),
    ),
    max_leaves=12,
)
good_items: st.SearchStrategy[Item] = st.dictionaries(
    st.text(min_size=1, max_size=5), good_values, max_size=6
)


@given(anything)
def test_any_json_is_an_item_or_refused(document: object) -> None:
    before: Any = copy.deepcopy(document)
    try:
        size = values.check_item(document)
    except ClientError:
        return
    assert isinstance(document, dict)
    assert values.item_size(document) == size
    # What was accepted is well typed, and accepted again as it is.
    for value in before.values():
        values.check_types(value)
    normalised = copy.deepcopy(document)
    assert values.check_item(document) == size
    assert document == normalised


@given(anything)
def test_type_walk_refuses_whatever_checking_finds_mistyped(document: object) -> None:
    before = copy.deepcopy(document)
    try:
        values.check_value(document)
    except SerializationException:
        with pytest.raises(SerializationException):
            values.check_types(before)
    except ClientError:
        pass
    else:
        values.check_types(before)


@given(good_items, good_items)
def test_size_is_additive(left: Item, right: Item) -> None:
    joined = left | right
    overlap = {name: value for name, value in left.items() if name in right}
    assert values.item_size(joined) == (
        values.item_size(left) + values.item_size(right) - values.item_size(overlap)
    )
    assert values.check_item(copy.deepcopy(joined)) == values.item_size(joined)


@given(good_values)
def test_value_equals_its_copy_with_sets_turned_round(value: Value) -> None:
    assert comparison.equal(value, turned(value))
    assert comparison.equal(turned(value), value)
    assert values.value_size(turned(value)) == values.value_size(value)


def turned(value: Value) -> Value:
    kind = values.type_of(value)
    content = value[kind]
    if kind in ("SS", "NS", "BS"):
        return {kind: content[::-1]}
    if kind == "L":
        return {kind: [turned(element) for element in content]}
    if kind == "M":
        return {kind: {name: turned(element) for name, element in reversed(content.items())}}
    return dict(value)


def outcome(item: Item) -> object:
    """Return the size and what became of the item, or the refusal."""
    try:
        return values.check_item(item), item
    except ClientError as error:
        return type(error), error.message


@given(st.dictionaries(names, st.one_of(anything, good_values), max_size=4))
def test_the_fast_walk_and_the_close_look_agree(item: Item) -> None:
    fast = outcome(copy.deepcopy(item))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "_strings_size", lambda item: None)
        patch.setattr(values, "_plain_size", lambda item, bytes_max: None)
        assert outcome(copy.deepcopy(item)) == fast
