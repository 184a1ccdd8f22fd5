"""Values as PartiQL writes them."""

import pytest

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.literals import is_literal, literal_value
from hashrange.expressions.partiql.parser import StatementParser


def value_of(text):
    return literal_value(StatementParser(text).expression())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", {"S": "it's"}),
        ("1.50", {"N": "1.5"}),
        ("-1e2", {"N": "-100"}),
        ("null", {"NULL": True}),
        ("TRUE", {"BOOL": True}),
        ("false", {"BOOL": False}),
        ("[1, 'a', [true]]", {"L": [{"N": "1"}, {"S": "a"}, {"L": [{"BOOL": True}]}]}),
        ("{'a': 1, 'b': {'c': 'd'}}", {"M": {"a": {"N": "1"}, "b": {"M": {"c": {"S": "d"}}}}}),
        ("<<'b', 'a'>>", {"SS": ["a", "b"]}),
        ("<<10, 9.0>>", {"NS": ["9", "10"]}),
    ],
)
def test_a_literal_is_a_value(text, value):
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<<>>", "Empty bags are not supported"),
        ("<<1, 'a'>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or"),
        ("<<true>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or"),
        ("<<[1]>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or"),
        ("{'a': 1, 'a': 2}", "Duplicate keys in tuple. Key: a under root"),
        ("{1: 2}", "Tuple keys must be of type String. Actual type: INT under root"),
        ("{1.5: 2}", "Tuple keys must be of type String. Actual type: DECIMAL under root"),
        ("{null: 2}", "Tuple keys must be of type String. Actual type: NULL under root"),
        ("{true: 2}", "Tuple keys must be of type String. Actual type: BOOL under root"),
        ("`a`", "Ion Literals are not supported: SYMBOL under key root"),
        ("`1`", "Ion Literals are not supported: INT under key root"),
        ("`-1.5`", "Ion Literals are not supported: DECIMAL under key root"),
        ('`"a"`', "Ion Literals are not supported: STRING under key root"),
        ("`{{aGk=}}`", "Ion Literals are not supported: BLOB under key root"),
        ('`{{"hi"}}`', "Ion Literals are not supported: CLOB under key root"),
        ("[1, [name]]", "Unsupported data type: "),
    ],
)
def test_what_is_no_value_is_refused_with_its_place(text, message):
    with pytest.raises(ValidationException) as raised:
        value_of(text)
    assert str(raised.value).startswith(message)


def test_a_number_out_of_range_is_refused_under_its_path():
    with pytest.raises(ValidationException) as raised:
        value_of("{'a': [1, 1e200]}")
    assert str(raised.value).endswith(" under root.a[1]")


def test_names_and_functions_are_no_literals():
    texts = ("1", "[a]", "{'a': b}", "name", "size(a)", "1 + 1")
    literal = [is_literal(StatementParser(text).expression()) for text in texts]
    assert literal == [True, True, True, False, False, False]
