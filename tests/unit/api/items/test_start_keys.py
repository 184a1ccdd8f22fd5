"""ExclusiveStartKey against the schema and against what is read."""

import pytest

from hashrange.api.items.pages import Source
from hashrange.api.items.start_keys import (
    check_reachable,
    check_start_names,
    check_start_parts,
    start_position,
)
from hashrange.errors import ValidationException
from hashrange.expressions.key_conditions import KeyRange
from hashrange.model.keys import index_key, item_key
from hashrange.model.schema import KeyPart
from tests.harness.schemas import make_index, make_table

INDEX = make_index("by_n", KeyPart("n", "N"))
TABLE = make_table(KeyPart("p", "S"), KeyPart("s", "S"), indexes=(INDEX,))
OF_TABLE, OF_INDEX = Source(TABLE, None, fetches=False), Source(TABLE, INDEX, fetches=False)
KEY = {"p": {"S": "a"}, "s": {"S": "m"}}
INVALID = "The provided starting key is invalid"


def refusal(act, *arguments):
    with pytest.raises(ValidationException) as raised:
        act(*arguments)
    return str(raised.value)


def test_a_starting_key_has_as_many_attributes_as_the_keys():
    check_start_names(OF_TABLE, KEY)
    check_start_names(OF_INDEX, {**KEY, "n": {"N": "1"}})
    assert refusal(check_start_names, OF_INDEX, KEY) == INVALID


def test_a_starting_key_has_the_types_of_the_keys():
    assert refusal(check_start_parts, {}, OF_TABLE.partition) == INVALID
    assert refusal(check_start_parts, {"p": {"N": "1"}}, OF_TABLE.partition) == (
        "The provided key element does not match the schema"
    )


def test_a_starting_key_is_a_position_in_what_is_read():
    assert start_position(OF_TABLE, KEY) == item_key(TABLE.parts, KEY)
    start = {**KEY, "n": {"N": "1"}}
    assert start_position(OF_INDEX, start) == index_key(INDEX, TABLE, start)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ({"p": {"S": "a"}}, "does not match the schema"),
        ({"p": {"S": "a"}, "s": {"N": "1"}}, "does not match the schema"),
        ({**KEY, "s": {"S": ""}}, "cannot contain an empty string value. Key: s"),
    ],
)
def test_a_starting_key_that_is_no_key_of_the_table_is_refused(start, text):
    message = refusal(start_position, OF_TABLE, start)
    assert message.startswith(INVALID)
    assert message.endswith(text)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (KeyRange(({"S": "a"},), (), ">", ({"S": "x"},)), "does not match the range key predicate"),
        (KeyRange(({"S": "b"},), (), "<", ({"S": "x"},)), "at most one row and cannot be restart"),
        (KeyRange(({"S": "b"},), (), None, ()), "is outside query boundaries"),
    ],
)
def test_a_query_starts_only_where_it_could_have_stopped(keys, text):
    assert text in refusal(check_reachable, OF_TABLE, keys, KEY, start_position(OF_TABLE, KEY))


def test_a_position_within_the_query_is_accepted():
    keys = KeyRange(({"S": "a"},), (), "<", ({"S": "x"},))
    check_reachable(OF_TABLE, keys, KEY, start_position(OF_TABLE, KEY))
