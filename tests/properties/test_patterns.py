"""Patterns made by chance: they are understood or refused, and match or not, without surprises."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.model.patterns import PatternError, parse_pattern

NAMES = st.sampled_from(["a", "b", "$or"])
OPERATORS = st.sampled_from(
    ["prefix", "suffix", "equals-ignore-case", "anything-but", "numeric", "exists", "other"]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.sampled_from(["", "x", "X", "xy", "=", "<", ">="]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(NAMES, inner, max_size=3),
        st.dictionaries(OPERATORS, inner, min_size=1, max_size=1),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(pattern=JSON, record=JSON)
def test_any_document_is_a_pattern_or_refused(pattern, record):
    try:
        parsed = parse_pattern(json.dumps(pattern))
    except PatternError:
        return
    assert parsed.matches(record) in (True, False)


@settings(deadline=None)
@given(value=SCALARS)
def test_a_value_matches_itself_and_not_its_absence(value):
    pattern = parse_pattern(json.dumps({"a": [value]}))
    assert pattern.matches({"a": value})
    assert pattern.matches({"a": [None, value] if value is not None else [1, None]})
    assert not pattern.matches({})


@settings(deadline=None)
@given(value=SCALARS, other=SCALARS)
def test_anything_but_is_the_opposite_of_equal(value, other):
    try:
        pattern = parse_pattern(json.dumps({"a": [{"anything-but": [value]}]}))
    except PatternError:
        assert value is None or isinstance(value, bool)
        return
    equal = parse_pattern(json.dumps({"a": [value]}))
    assert pattern.matches({"a": other}) != equal.matches({"a": other})
