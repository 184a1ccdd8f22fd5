"""Keys and ranges as people type them."""

import pytest

from hashrange.cli.data.key_texts import KeySchema
from hashrange.cli.data.plain_json import PlainJsonError

TABLE = {
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "year", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "year", "AttributeType": "N"},
        {"AttributeName": "title", "AttributeType": "S"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by_title",
            "KeySchema": [
                {"AttributeName": "artist", "KeyType": "HASH"},
                {"AttributeName": "title", "KeyType": "RANGE"},
            ],
        }
    ],
}


def test_a_key_has_the_types_of_the_table():
    assert KeySchema.of(TABLE).key(["Nina", "1965"]) == {
        "artist": {"S": "Nina"},
        "year": {"N": "1965"},
    }


@pytest.mark.parametrize("texts", [["Nina"], ["Nina", "1", "2"]])
def test_a_key_needs_all_its_parts_and_no_more(texts):
    with pytest.raises(PlainJsonError, match="artist and year"):
        KeySchema.of(TABLE).key(texts)


def test_a_number_must_be_one():
    with pytest.raises(PlainJsonError, match="'soon' is none"):
        KeySchema.of(TABLE).key(["Nina", "soon"])


@pytest.mark.parametrize(
    ("text", "condition", "values"),
    [
        ("A", "#s = :s0", ["A"]),
        ("A*", "begins_with(#s, :s0)", ["A"]),
        ("A..C", "#s BETWEEN :s0 AND :s1", ["A", "C"]),
        (">=A", "#s >= :s0", ["A"]),
        ("< A", "#s < :s0", ["A"]),
        ("\\>A*", "#s = :s0", [">A*"]),
        ("..", "#s = :s0", [".."]),
    ],
)
def test_ranges_of_sort_keys(text, condition, values):
    found = KeySchema.of(TABLE, "by_title").condition("Nina", text)
    assert found["KeyConditionExpression"] == f"#p = :p AND {condition}"
    assert found["ExpressionAttributeNames"] == {"#p": "artist", "#s": "title"}
    assert [found["ExpressionAttributeValues"][f":s{at}"] for at in range(len(values))] == [
        {"S": value} for value in values
    ]


def test_an_index_that_is_not_there_is_named():
    with pytest.raises(PlainJsonError, match="no index by_year"):
        KeySchema.of(TABLE, "by_year")


def test_a_range_needs_a_sort_key():
    schema = KeySchema("id", None, {"id": "S"})
    assert schema.condition("7", None)["KeyConditionExpression"] == "#p = :p"
    with pytest.raises(PlainJsonError, match="no sort key"):
        schema.condition("7", "1")
