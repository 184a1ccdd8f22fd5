"""Statements, parsed and prepared without a table."""

from typing import Any

import pytest

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.keywords import FUNCTION_WORDS, KEYWORDS, OPERATOR_WORDS
from hashrange.expressions.partiql.lexer import END, NAME, STRING, tokenize
from hashrange.expressions.partiql.selection import Selection
from hashrange.expressions.partiql.statements import (
    DeleteStatement,
    ExistsStatement,
    InsertStatement,
    SelectStatement,
    UpdateStatement,
    prepare_statement,
)
from hashrange.limits import STATEMENTS_KEPT_MAX


def test_tokens_know_their_line_column_and_length():
    tokens = tokenize("select 'it''s'\n  /* a\n b */ \"a\"\"b\" -- end\r\n;")
    assert [(one.kind, one.text, one.place) for one in tokens] == [
        ("select", "select", " at 1:1:6"),
        (STRING, "it's", " at 1:8:7"),
        (NAME, 'a"b', " at 3:7:6"),
        (";", ";", " at 4:1:1"),
        (END, "", " at 4:2:0"),
    ]


def test_words_of_the_language_are_reserved():
    assert KEYWORDS >= OPERATOR_WORDS | FUNCTION_WORDS
    assert not KEYWORDS & {"data", "name", "status", "type", "count_of", "id"}


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ('SELECT * FROM "t-1"."i"', SelectStatement, ("t-1", "i")),
        ("INSERT INTO t VALUE {'p': 1}", InsertStatement, ("t", None)),
        ("UPDATE t SET a = 1 REMOVE b", UpdateStatement, ("t", None)),
        ("from t where p = 1 set a = 1;", UpdateStatement, ("t", None)),
        ("DELETE FROM t RETURNING ALL OLD *", DeleteStatement, ("t", None)),
        ("exists (SELECT * FROM t WHERE p = 1)", ExistsStatement, ("t", None)),
    ],
)
def test_statements_know_their_table(text, kind, names):
    statement = prepare_statement(text)
    assert type(statement) is kind
    assert (statement.table_name, statement.index_name) == names


def test_a_statement_is_parsed_once_and_remembered_within_a_bound():
    first = prepare_statement("SELECT * FROM t")
    assert prepare_statement("SELECT * FROM t") is first
    for number in range(STATEMENTS_KEPT_MAX):
        prepare_statement(f"SELECT * FROM t{number}")
    assert prepare_statement("SELECT * FROM t") is not first


def test_a_long_statement_is_not_remembered():
    text = f"SELECT * FROM t WHERE a = '{'x' * 2000}'"
    assert prepare_statement(text) is not prepare_statement(text)


def test_parameters_do_not_leak_between_uses():
    statement = prepare_statement("INSERT INTO t VALUE {'p': ?, 'q': 'same'}")
    assert isinstance(statement, InsertStatement)
    first = statement.item(statement.values([{"S": "a"}]))
    second = statement.item(statement.values([{"N": "1.0"}]))
    assert first == {"p": {"S": "a"}, "q": {"S": "same"}}
    assert second == {"p": {"N": "1"}, "q": {"S": "same"}}


@pytest.mark.parametrize(
    ("where", "attributes"),
    [
        ("p = 1 AND (r > 2 AND x IS MISSING)", [["p", "r", "x"]]),
        ("p = 1 OR (r > 2 OR x = 3)", [["p"], ["r"], ["x"]]),
        ("p = 1 AND (r = 2 OR r = 3)", [["p", "r"]]),
    ],
)
def test_alternatives_and_conjuncts_are_found_through_parentheses(where, attributes):
    statement = prepare_statement(f"SELECT * FROM t WHERE {where}")
    assert statement.where is not None
    found = [
        [sorted(one.attributes)[0] for one in branch] for branch in statement.where.alternatives
    ]
    assert found == attributes


def test_a_comparison_may_have_its_value_first():
    statement = prepare_statement("SELECT * FROM t WHERE 3 <= r")
    assert statement.where is not None
    ((conjunct,),) = statement.where.alternatives
    assert conjunct.test is not None
    assert (conjunct.test.attribute, conjunct.test.operator) == ("r", ">=")


@pytest.mark.parametrize(
    ("path", "selected"),
    [
        (("m", "x"), {"x": {"N": "1"}}),
        (("l", 0, 1), {"l[0][1]": {"N": "3"}}),
        (("m", "l", 0, 0), {"l[0]": {"L": [{"N": "4"}]}}),
        (("l", 1, "k"), {"l[1]": {"M": {"k": {"N": "5"}}}}),
        (("l", 7), {}),
    ],
)
def test_columns_are_named_by_the_end_of_their_path(path, selected):
    item: dict[str, Any] = {
        "m": {"M": {"x": {"N": "1"}, "l": {"L": [{"L": [{"N": "4"}]}]}}},
        "l": {"L": [{"L": [{"N": "2"}, {"N": "3"}]}, {"M": {"k": {"N": "5"}}}]},
    }
    assert Selection((path,)).apply(item) == selected


@pytest.mark.parametrize("text", ["(" * 8000, "[" * 8000, "NOT " * 2000, "a." * 4000, "1+" * 4000])
def test_no_statement_exhausts_the_stack(text):
    with pytest.raises(ValidationException):
        prepare_statement(text)
