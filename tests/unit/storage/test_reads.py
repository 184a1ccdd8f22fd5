"""Spans: the ranges of keys that queries and scans read."""

import pytest

from hashrange.expressions.key_conditions import KeyRange
from hashrange.model.keys import item_key
from hashrange.model.schema import KeyPart
from hashrange.storage.reads import Span, query_span

PARTS = (KeyPart("p", "S"), KeyPart("s", "S"))
PLACE = ("t1", 1)


def key(sort, partition="a"):
    return item_key(PARTS, {"p": {"S": partition}, "s": {"S": sort}})


@pytest.mark.parametrize(
    ("operator", "operands", "selected"),
    [
        (None, (), "a ab b bc c"),
        ("<", ("b",), "a ab"),
        ("<=", ("b",), "a ab b"),
        (">", ("b",), "bc c"),
        (">=", ("b",), "b bc c"),
        ("BETWEEN", ("ab", "bc"), "ab b bc"),
        ("begins_with", ("b",), "b bc"),
    ],
)
def test_a_key_condition_selects_a_span_of_one_partition(operator, operands, selected):
    values = tuple({"S": operand} for operand in operands)
    keys = KeyRange(({"S": "a"},), (), operator, values)
    span = query_span(PLACE, PARTS[:1], PARTS[1:], keys, reverse=False)
    assert (
        " ".join(sort for sort in ("a", "ab", "b", "bc", "c") if span.holds(key(sort))) == selected
    )
    assert not span.holds(key("b", partition="other"))


def test_an_equal_sort_key_selects_one_item():
    keys = KeyRange(({"S": "a"},), ({"S": "b"},), None, ())
    span = query_span(PLACE, PARTS[:1], PARTS[1:], keys, reverse=False)
    assert [sort for sort in ("a", "b", "bc") if span.holds(key(sort))] == ["b"]


def test_what_is_left_of_a_span_depends_on_the_direction():
    forwards, backwards = Span(PLACE, b"a", b"m"), Span(PLACE, b"a", b"m", reverse=True)
    assert [forwards.after(b"c").holds(each) for each in (b"b", b"c", b"d")] == [False, False, True]
    assert [backwards.after(b"c").holds(each) for each in (b"b", b"c", b"d")] == [
        *(True, False, False)
    ]


def test_a_span_goes_on_in_the_next_shard_as_far_as_it_reaches():
    span = Span(("t1", 4), b"\x10", b"\x90")
    assert span.shard() == 0
    beyond = span.beyond(0)
    assert beyond is not None
    assert (beyond.lower, beyond.shard()) == (b"\x40\x00\x00\x00", 1)
    assert span.beyond(2) is None
    assert Span(PLACE, b"", b"\xff").beyond(0) is None
