"""The order in which members of sets come back."""

import base64

import pytest

from hashrange.model.sets import sort_members


@pytest.mark.parametrize(
    ("kind", "members", "ordered"),
    [
        ("SS", ["b", "a", "B", "é", "𝄞", "~"], ["B", "a", "b", "~", "é", "𝄞"]),
        ("NS", ["10", "9", "-1", "0.5"], ["-1", "0.5", "9", "10"]),
        ("SS", ["one"], ["one"]),
    ],
)
def test_strings_are_sorted_by_bytes_and_numbers_by_value(kind, members, ordered):
    sort_members(kind, members)
    assert members == ordered


def test_binary_members_are_sorted_by_their_bytes_not_by_their_base64():
    members = [base64.b64encode(content).decode() for content in (b"\xff", b"\x00", b"\xfb", b"a")]
    assert members != sorted(members)
    sort_members("BS", members)
    assert [base64.b64decode(member) for member in members] == [b"\x00", b"a", b"\xfb", b"\xff"]
