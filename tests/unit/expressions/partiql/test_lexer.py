"""Tokens of PartiQL statements and their places."""

import pytest

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.lexer import tokenize


def texts(statement):
    return [token.text for token in tokenize(statement)][:-1]


def test_quotes_are_taken_off_and_doubled_ones_made_single():
    assert texts("""SELECT "a""b" FROM 'it''s'""") == ["SELECT", 'a"b', "FROM", "it's"]


def test_symbols_of_two_characters_are_one_token():
    assert texts("a<=1 AND <<2>> != b<>c") == [
        *("a", "<=", "1", "AND", "<<", "2", ">>", "!=", "b", "<>", "c")
    ]


def test_comments_are_left_out():
    assert texts("a -- to the end of the line\nb /* across\nlines */ c") == ["a", "b", "c"]


def test_a_token_knows_its_line_and_column():
    first, second, _ = tokenize("a\n  bcd")
    assert (first.place, second.place) == (" at 1:1:1", " at 2:3:3")


@pytest.mark.parametrize("statement", ["'open", '"open', "a ^ b", "`open"])
def test_what_is_no_token_is_refused(statement):
    with pytest.raises(ValidationException, match="Statement wasn't well formed"):
        tokenize(statement)
