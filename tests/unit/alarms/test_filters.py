"""Filter policies of SNS subscriptions."""

import json

import pytest

from hashrange.alarms.filters import FilterError, check_policy, matches


def wants(policy, body):
    return matches(policy, "MessageBody", json.dumps(body), {})


@pytest.mark.parametrize(
    ("rule", "accepted", "refused"),
    [
        ("red", "red", "blue"),
        ({"prefix": "re"}, "red", "blue"),
        ({"suffix": "ue"}, "blue", "red"),
        ({"anything-but": ["red"]}, "blue", "red"),
        ({"anything-but": "red"}, "blue", "red"),
        ({"equals-ignore-case": "RED"}, "red", "blue"),
        ({"numeric": [">=", 3, "<", 5]}, 4, 5),
        ({"numeric": ["=", 3]}, 3, "3"),
        ({"prefix": "1"}, "12", 12),
    ],
)
def test_a_rule_accepts_some_values(rule, accepted, refused):
    assert wants({"v": [rule]}, {"v": accepted})
    assert not wants({"v": [rule]}, {"v": refused})
    assert not wants({"v": [rule]}, {})


def test_presence_lists_and_nested_policies():
    assert wants({"v": [{"exists": True}]}, {"v": 1})
    assert wants({"v": [{"exists": False}]}, {})
    assert wants({"v": ["a"]}, {"v": ["b", "a"]})
    assert wants({"o": {"v": ["a"]}}, {"o": {"v": "a"}})
    assert not wants({"o": {"v": ["a"]}}, {"o": 1})
    assert not matches({}, "MessageBody", "no json", {})


def test_attributes_have_types():
    attributes = {
        "n": {"DataType": "Number", "StringValue": "4"},
        "l": {"DataType": "String.Array", "StringValue": '["a", "b"]'},
        "s": {"DataType": "String", "StringValue": "x"},
    }
    policy = {"n": [{"numeric": ["<=", 4]}], "l": ["b"], "s": ["x"]}
    assert matches(policy, "MessageAttributes", "", attributes)
    assert not matches({**policy, "s": ["y"]}, "MessageAttributes", "", attributes)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": []}', '{"a": 1}', '{"a": [{"like": 1}]}'])
def test_a_policy_that_is_not_understood_is_refused(text):
    with pytest.raises(FilterError):
        check_policy(text)


def test_a_nested_policy_is_checked():
    check_policy('{"a": {"b": [{"exists": true}, "x"]}}')
