"""Statements: which clauses are parsed, and which are refused later or at once."""

import pytest

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.parser import StatementParser
from hashrange.expressions.partiql.tree import Delete, Insert, Select, Update


def parse(text):
    return StatementParser(text).statement()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT * FROM t;", Select),
        ("INSERT INTO t VALUE {'a': 1}", Insert),
        ("UPDATE t SET a = 1 REMOVE b WHERE p = 1", Update),
        ("FROM t WHERE p = 1 SET a = 1", Update),
        ("DELETE FROM t WHERE p = 1", Delete),
    ],
)
def test_a_statement_is_known_by_its_first_word(text, kind):
    node = parse(text)
    assert isinstance(node, kind)
    assert not node.refusal


def test_order_by_keeps_its_keys_and_directions():
    select = parse("SELECT * FROM t WHERE p = 1 ORDER BY a DESC NULLS FIRST, b ASC, c NULLS LAST")
    assert isinstance(select, Select)
    assert [descends for _, descends in select.order] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("SELECT DISTINCT a FROM t", "Unsupported token in expression: DISTINCT"),
        ("SELECT VALUE a FROM t", "Select projection doesn't support value or pivot keywords"),
        ("SELECT a FROM t GROUP BY a, b", "Unsupported clause: GROUP BY"),
        ("SELECT a FROM t HAVING a = 1", "Unsupported clause: HAVING"),
        (
            "INSERT INTO t VALUE {'a': 1} ON CONFLICT WHERE a DO NOTHING",
            "Unsupported clause: ON CONFLICT",
        ),
        (
            "INSERT INTO t VALUE {'a': 1} RETURNING ALL OLD *",
            "RETURNING is not supported in INSERT",
        ),
    ],
)
def test_unsupported_clauses_are_parsed_and_noted(text, refusal):
    node = parse(text)
    assert isinstance(node, Select | Insert)
    assert (node.refusal or "").startswith(refusal)


@pytest.mark.parametrize("text", ["SELECT * FROM t AS x", "SELECT * FROM t x", "DELETE FROM t x"])
def test_aliases_are_noted(text):
    node = parse(text)
    assert isinstance(node, Select | Delete)
    assert node.refusal


def test_a_returning_clause_has_a_scope_and_images():
    update = parse("UPDATE t SET a = 1 WHERE p = 1 RETURNING MODIFIED OLD *")
    assert isinstance(update, Update)
    assert update.returning is not None
    assert (update.returning.scope, update.returning.images) == ("MODIFIED", "OLD")
    assert not update.returning.refusal


@pytest.mark.parametrize(
    ("clause", "refusal"),
    [
        ("ALL OLD *, ALL NEW *", "Invalid syntax with multiple returning elements"),
        ("ALL OLD a", "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD )"),
    ],
)
def test_other_returning_clauses_are_noted(clause, refusal):
    update = parse(f"UPDATE t SET a = 1 WHERE p = 1 RETURNING {clause}")
    assert isinstance(update, Update)
    assert update.returning is not None
    assert (update.returning.refusal or "").startswith(refusal)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("SELECT * FROM t 1", "Unexpected token after expression"),
        ("SELECT * FROM t GROUP a", "Expected BY after GROUP"),
        ("SELECT * FROM t AS 1", "Expected identifier for alias"),
        ("INSERT INTO t VALUE {} ON a", "Expected CONFLICT after ON"),
        ("INSERT INTO t VALUE {} ON CONFLICT a", "Expected WHERE after ON CONFLICT"),
        ("INSERT INTO t VALUE {} ON CONFLICT WHERE a", "Expected DO NOTHING after ON CONFLICT"),
        ("DELETE FROM t WHERE a = 1 RETURNING x", "Expected ALL or MODIFIED"),
        ("DELETE FROM t WHERE a = 1 RETURNING ALL x", "Expected OLD or NEW"),
    ],
)
def test_what_does_not_parse_is_refused_at_once(text, detail):
    with pytest.raises(ValidationException) as raised:
        parse(text)
    assert str(raised.value).startswith(
        f"Statement wasn't well formed, can't be processed: {detail}"
    )
