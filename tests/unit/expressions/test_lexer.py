"""Tokens of expressions and their places."""

import pytest

from hashrange.expressions.lexer import tokenize


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", ["<EOF>"]),
        ("a.b[10] = :v", ["name", ".", "name", "[", "index", "]", "=", ":", "<EOF>"]),
        ("#n <> :v", ["#", "<>", ":", "<EOF>"]),
        ("Set remove AnD bEtween", ["SET", "REMOVE", "AND", "BETWEEN", "<EOF>"]),
        ("<= >= < > + - ( ) ,", ["<=", ">=", "<", ">", "+", "-", "(", ")", ",", "<EOF>"]),
        ("a ! é", ["name", "unknown", "unknown", "<EOF>"]),
        ("01", ["index", "index", "<EOF>"]),
        ("# :", ["unknown", "unknown", "<EOF>"]),
        (" \t\r\n", ["<EOF>"]),
    ],
)
def test_an_expression_is_cut_into_tokens(text, kinds):
    assert [token.kind for token in tokenize(text)] == kinds


def test_a_token_knows_its_text_and_its_place():
    text = " and\t#name"
    first, second, end = tokenize(text)
    assert (first.kind, first.text, text[first.start : first.end]) == ("AND", "and", "and")
    assert (second.text, text[second.start : second.end]) == ("#name", "#name")
    assert (end.start, end.end) == (len(text), len(text))
