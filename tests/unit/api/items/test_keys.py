"""Keys of requests against the schema of their table."""

import pytest

from hashrange.api.items.keys import check_batch_put, check_index_keys, key_of, put_key, request_key
from hashrange.errors import ValidationException
from hashrange.model.keys import item_key
from hashrange.model.schema import KeyPart
from tests.harness.schemas import make_index, make_table

PK, SK = KeyPart("p", "S"), KeyPart("s", "B")
INDEX = make_index("by_n", KeyPart("n", "N"), KeyPart("x", "S"))
TABLE = make_table(PK, SK, indexes=(INDEX,))
KEY = {"p": {"S": "a"}, "s": {"B": "YQ=="}}
MISMATCH = "The provided key element does not match the schema"
EMPTY = "The AttributeValue for a key attribute cannot contain an empty "


def refusal(act, *arguments):
    with pytest.raises(ValidationException) as raised:
        act(*arguments)
    return str(raised.value)


def test_a_key_becomes_the_bytes_of_its_item():
    assert request_key(TABLE, KEY) == put_key(TABLE, {**KEY, "other": {"N": "1"}})
    assert request_key(TABLE, KEY) == item_key(TABLE.parts, KEY)


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"p": {"S": "a"}},
        {**KEY, "more": {"S": "a"}},
        {"p": {"S": "a"}, "other": {"S": "a"}},
        {"p": {"N": "1"}, "s": {"B": "YQ=="}},
    ],
)
def test_a_key_that_is_not_exactly_the_key_attributes_is_refused(key):
    assert refusal(request_key, TABLE, key) == MISMATCH


def test_empty_keys_are_refused_by_their_type():
    assert refusal(request_key, TABLE, {**KEY, "s": {"B": ""}}).endswith(
        f"{EMPTY}binary value. Key: s"
    )
    assert refusal(put_key, TABLE, {**KEY, "p": {"S": ""}}).endswith(f"{EMPTY}string value. Key: p")


def test_an_item_to_put_names_what_is_wrong_with_its_key():
    assert refusal(put_key, TABLE, {"p": {"S": "a"}}).endswith("Missing the key s in the item")
    assert refusal(put_key, TABLE, {**KEY, "p": {"N": "1"}}).endswith(
        "Type mismatch for key p expected: S actual: N"
    )
    assert refusal(check_batch_put, TABLE, {"p": {"S": "a"}}) == MISMATCH


def test_keys_have_a_greatest_length():
    assert "Size of hashkey" in refusal(put_key, make_table(PK), {"p": {"S": "x" * 2049}})
    put_key(make_table(PK), {"p": {"S": "x" * 2048}})
    long = {"p": {"S": "a"}, "s": {"S": "x" * 1025}}
    assert "all range keys" in refusal(put_key, make_table(PK, KeyPart("s", "S")), long)


def test_index_keys_must_fit_their_index_or_be_absent():
    check_index_keys(TABLE, KEY)
    check_index_keys(TABLE, {**KEY, "n": {"N": "1"}, "x": {"S": "x"}})
    assert refusal(check_index_keys, TABLE, {"n": {"S": "1"}}).endswith(
        "Type mismatch for Index Key n Expected: N Actual: S IndexName: by_n"
    )
    assert refusal(check_index_keys, TABLE, {"x": {"S": ""}}).endswith(
        f"{EMPTY}string value. IndexName: by_n, IndexKey: x"
    )
    assert "all range keys" in refusal(check_index_keys, TABLE, {"x": {"S": "x" * 1025}})


def test_a_last_evaluated_key_has_the_keys_of_table_and_index():
    item = {**KEY, "n": {"N": "1"}, "x": {"S": "x"}, "more": {"S": "y"}}
    assert key_of(TABLE, None, item) == KEY
    assert key_of(TABLE, INDEX, item).keys() == {"p", "s", "n", "x"}
