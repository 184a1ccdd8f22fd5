"""Digests of items: equal values have equal digests, others do not."""

import random

import pytest

from hashrange.cli.copying.verifying import PARTS, TableDigest, digest_of, identity, part_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "10"}, {"N": "1E+1"}),
        ({"N": "0"}, {"N": "-0.00"}),
        ({"N": "1.50"}, {"N": "1.5"}),
        ({"N": "100"}, {"N": "100.0"}),
        ({"SS": ["b", "a"]}, {"SS": ["a", "b"]}),
        ({"NS": ["2.0", "1"]}, {"NS": ["1", "2"]}),
        (
            {"M": {"x": {"N": "1.0"}, "y": {"S": ""}}},
            {"M": {"y": {"S": ""}, "x": {"N": "1"}}},
        ),
    ],
)
def test_equal_values_have_one_digest(one, other):
    assert digest_of({"a": one}) == digest_of({"a": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"N": "10"}, {"N": "100"}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"S": "YQ=="}, {"B": "YQ=="}),
        ({"SS": ["1"]}, {"NS": ["1"]}),
        ({"N": "99999999999999999999999999999999999999"}, {"N": "1E+38"}),
    ],
)
def test_other_values_have_another(one, other):
    assert digest_of({"a": one}) != digest_of({"a": other})


def items(count):
    return [{"k": {"N": str(number)}, "v": {"S": "x" * number}} for number in range(count)]


def test_the_order_of_items_does_not_matter():
    one, other = TableDigest(["k"]), TableDigest(["k"])
    shuffled = items(500)
    random.Random(1).shuffle(shuffled)
    one.add(items(500))
    for each in shuffled:
        other.add([each])
    assert one.differing(other) == []
    assert sum(one.counts) == 500


def test_a_difference_is_in_the_part_of_its_key():
    one, other = TableDigest(["k"]), TableDigest(["k"])
    one.add(items(500))
    changed = items(500)
    changed[77]["v"] = {"S": "other"}
    other.add(changed)
    assert one.differing(other) == [part_of(identity(changed[77], ["k"]))]
    assert all(0 <= part < PARTS for part in one.differing(other))
