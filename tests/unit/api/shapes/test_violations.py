"""Broken constraints: places, echoes, and which of them are reported."""

import pytest

from hashrange.api.shapes.violations import Place, Violations, java_text, json_text
from hashrange.errors import ValidationException

ROOT = Place("", "")
NAME = ROOT.member("TableName")


def refusal(violations):
    with pytest.raises(ValidationException) as raised:
        violations.raise_any()
    return str(raised.value)


def test_places_are_written_in_both_ways():
    place = ROOT.member("RequestItems").inside("music").member("Keys")
    assert place.lower == "requestItems.music.member.keys"
    assert place.wire == "RequestItems.music.member.Keys"


def test_nothing_found_is_nothing_raised():
    Violations().raise_any()


def test_values_are_echoed_unless_the_place_is_named_alone():
    violations = Violations()
    violations.add(NAME, "x", "be longer")
    violations.add(NAME, "x", "be shorter", named=True)
    assert refusal(violations) == (
        "2 validation errors detected: "
        "Value 'x' at 'tableName' failed to satisfy constraint: be longer; "
        "Value at 'TableName' failed to satisfy constraint: be shorter"
    )


def test_at_most_ten_are_reported():
    violations = Violations()
    for number in range(12):
        violations.add(NAME, number, "be another")
    assert refusal(violations).startswith("10 validation errors detected: ")


def test_late_ones_are_reported_only_when_there_is_nothing_else():
    violations = Violations()
    violations.add(NAME, "late", "wait", late=True)
    assert "'late'" in refusal(violations)
    violations.add(NAME, "first", "be right")
    assert "'late'" not in refusal(violations)


def test_newer_wording_gives_way_when_a_member_is_missing():
    violations = Violations()
    text = violations.add(NAME, "x", "be longer", alone="in newer words")
    violations.reword(text, "newer")
    assert refusal(violations) == "in newer words"
    violations.add(NAME, None, "not be null")
    assert refusal(violations).startswith("2 validation errors detected: Value 'x'")


@pytest.mark.parametrize("is_deep", [True, False])
def test_a_deep_request_is_refused_in_the_older_words(is_deep):
    violations = Violations(is_deep=is_deep)
    violations.reword(violations.add(NAME, "x", "be longer"), "newer")
    assert refusal(violations).endswith("be longer" if is_deep else "newer")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ([1, "a"], "[1, a]"),
        ({"S": "a"}, "AttributeValue(s=a)"),
        (
            {"AttributeName": "a", "KeyType": "HASH"},
            "KeySchemaElement(attributeName=a, keyType=HASH)",
        ),
        ({"unknown": 1, "too": 2}, "{unknown=1, too=2}"),
        ({}, "{}"),
    ],
)
def test_values_are_echoed_as_java_prints_them(value, text):
    assert java_text(value) == text


def test_echoes_end_at_some_depth():
    value: object = "leaf"
    for _ in range(300):
        value = [value]
    assert "..." in java_text(value)
    assert json_text([1]) == "[1]"
    for _ in range(300):
        value = [value]
    assert json_text(value) == java_text(value)
