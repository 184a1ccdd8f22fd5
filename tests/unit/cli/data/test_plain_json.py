"""Items as plain JSON: numbers keep their digits, sets and binaries have a form of their own."""

import pytest

from hashrange.cli.data.plain_json import PlainJsonError, item_of, json_text, text_of, typed_item_of

ITEM = {
    "id": {"S": "7"},
    "price": {"N": "9.99"},
    "count": {"N": "12345678901234567890"},
    "tags": {"SS": ["a", "b"]},
    "raw": {"B": b"hello"},
    "parts": {"L": [{"M": {"on": {"BOOL": True}, "off": {"NULL": True}}}]},
}
TEXT = (
    '{"id": "7", "price": 9.99, "count": 12345678901234567890, "tags": {"$set": ["a", "b"]}, '
    '"raw": {"$binary": "aGVsbG8="}, "parts": [{"on": true, "off": null}]}'
)


def test_an_item_reads_and_writes_as_json():
    assert item_of(TEXT) == ITEM
    assert text_of(ITEM) == TEXT


def test_a_number_no_float_can_hold_is_shown_with_all_digits():
    number = "0.12345678901234567890123456789"
    assert text_of({"n": {"N": number}}) == f'{{"n": "{number}"}}'
    assert item_of(f'{{"n": {number}}}') == {"n": {"N": number}}


def test_typed_json_is_dynamodbs_own():
    assert typed_item_of('{"id": {"S": "7"}, "raw": {"B": "aGVsbG8="}}') == {
        "id": {"S": "7"},
        "raw": {"B": b"hello"},
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1", "no JSON"),
        ("[]", "JSON object"),
        ('{"b": {"$binary": "?"}}', "not base64"),
        ('{"s": {"$set": [["a"]]}}', "a set has"),
        ('{"s": {"$set": []}}', "empty sets"),
        ('{"n": 1e400}', "out of DynamoDB's range"),
    ],
)
def test_what_is_no_item_is_refused_with_the_reason(text, reason):
    with pytest.raises(PlainJsonError, match=reason):
        item_of(text)


def test_untyped_values_are_refused_where_types_are_needed():
    with pytest.raises(PlainJsonError, match='"id" is no typed value'):
        typed_item_of('{"id": "7"}')


def test_dates_of_descriptions_are_text():
    from datetime import UTC, datetime

    assert (
        json_text({"at": datetime(2026, 1, 2, tzinfo=UTC)}) == '{"at": "2026-01-02 00:00:00+00:00"}'
    )
