"""The texts AWS answers wrong expressions with, one table per kind of expression."""

from __future__ import annotations

import pytest

from hashrange.api.items.arguments import (
    read_get_arguments,
    read_query_arguments,
    read_scan_arguments,
    read_write_arguments,
)
from hashrange.errors import ValidationException
from hashrange.model.values import OLDER, Value

_VALUES: dict[str, Value] = {
    ":n": {"N": "1"},
    ":two": {"N": "2"},
    ":s": {"S": "x"},
    ":a": {"S": "a"},
    ":l": {"L": []},
    ":m": {"M": {}},
    ":ss": {"SS": ["a"]},
    ":bool": {"BOOL": True},
    ":null": {"NULL": True},
    ":b": {"B": "YQ=="},
}


def _values(text: str) -> dict[str, object]:
    used = {
        name: dict(value)
        for name, value in _VALUES.items()
        if any(
            text[at:].startswith(name) and not text[at + len(name) :][:1].isalnum()
            for at in range(len(text))
        )
    }
    return {"ExpressionAttributeValues": used} if used else {}


def _syntax(token: str, near: str) -> str:
    return f'Syntax error; token: "{token}", near: "{near}"'


_REDUNDANT = "The expression has redundant parentheses;"
_MISUSED = "The function is not allowed to be used this way in an expression; function: "
_RESERVED = "Attribute name is a reserved keyword; reserved keyword: "
_NO_NAME = "An expression attribute name used in the document path is not defined; attribute name: "
_NO_VALUE = "An expression attribute value used in expression is not defined; attribute value: "
_TYPE = "Incorrect operand type for operator or function; operator or function: "
_COUNT = "Incorrect number of operands for operator or function; operator or function: "
_DISTINCT = (
    "The first operand must be distinct from the remaining operands for this operator or "
    "function; operator: "
)
_NO_PATH = "Operator or function requires a document path; operator or function: "
_MANY = "The expression contains too many operators; operator count: 301"
_BETWEEN = "The BETWEEN operator requires "


_CONDITIONS = [
    ("", "The expression can not be empty;"),
    ("a = " + "b" * 4096,
     "Expression size has exceeded the maximum allowed size; expression size: 4100"),
    # Syntax: the token, and the text from the one before it to the one after it.
    ("a = =", _syntax("=", "= =")),
    ("a = = b", _syntax("=", "= = b")),
    ("a >", _syntax("<EOF>", ">")),
    ("a =  \n ", _syntax("<EOF>", "=  \n ")),
    ("a  =\n\n =  b", _syntax("=", "=\n\n =  b")),
    ("  AND", _syntax("AND", "  AND")),
    (" ", _syntax("<EOF>", " ")),
    ("a = b c  ", _syntax("c", "b c  ")),
    ("a & b", _syntax("&", "a & b")),
    ("a=b)", _syntax(")", "b)")),
    ("(a=b", _syntax("<EOF>", "b")),
    ("a AND b", _syntax("AND", "a AND b")),
    ("(a) AND b=c", _syntax("AND", ") AND b")),
    ("NOT a", _syntax("<EOF>", "a")),
    ("a = b = c", _syntax("=", "b = c")),
    ("(a = b) = c", _syntax("=", ") = c")),
    ("a between b or c", _syntax("or", "b or c")),
    ("a in b", _syntax("b", "in b")),
    ("a in ()", _syntax(")", "()")),
    ("a in (b c)", _syntax("c", "b c)")),
    ("attribute_exists(", _syntax("<EOF>", "(")),
    ("attribute_exists()", _syntax(")", "()")),
    ("attribute_exists(a) attribute_exists(b)", _syntax("attribute_exists", ") attribute_exists(")),
    ("a[-1]=b", _syntax("-", "[-1")),
    ("a[01] = b", _syntax("1", "01]")),
    ("a[1.5]=b", _syntax(".", "1.5")),
    ("a..b=c", _syntax(".", "..b")),
    ("(a).b = c", _syntax(".", ").b")),
    ("size(a).b = c", _syntax(".", ").b")),
    (":a.b = c", _syntax(".", ":a.b")),
    ("a = 'x'", _syntax("'", "= 'x")),
    ("_a = b", _syntax("_", "_a")),
    ("1a = b", _syntax("1", "1a")),
    ("ü = b", _syntax("ü", "ü =")),
    ("set = a", _syntax("set", "set =")),
    ("a.between = b", _syntax("between", ".between =")),
    ("a + b = c", _syntax("+", "a + b")),
    ("a<>>b", _syntax(">", "<>>b")),
    ("#=b", _syntax("#", "#=")),
    # Redundant parentheses come before what is wrong later in the text.
    ("((a=b)) AND", _REDUNDANT),
    ("a = ((b)) and and", _REDUNDANT),
    ("foo(a) and ((b=c))", _REDUNDANT),
    ("((a)) = b", _REDUNDANT),
    ("((size(a))) = b", _REDUNDANT),
    ("not ((a = b))", _REDUNDANT),
    ("a = b and (((c = d) and e = f))", _REDUNDANT),
    ("contains((a), ((b)))", _REDUNDANT),
    ("(a)between(((b.c)).d)and(c)", _REDUNDANT),
    # Functions and reserved words, in the order of the text.
    ("foo(a) and size(b)", "Invalid function name; function: foo"),
    ("attRIbute_exIsts((views), #a)", "Invalid function name; function: attRIbute_exIsts"),
    ("size(b) and foo(a)", _MISUSED + "size"),
    ("a = attribute_exists(b)", _MISUSED + "attribute_exists"),
    ("size(contains(a, b)) > a", _MISUSED + "contains"),
    ("list_append(a,b) = c",
     "The function is not allowed in a condition expression; function: list_append"),
    ("status=a and foo(a)", _RESERVED + "status"),
    ("#x=a and abOrT=b", _RESERVED + "abOrT"),
    ("a.b.status = c", _RESERVED + "status"),
    ("n[2147483648]=b", "List index is not within the allowable range; index: [2147483648]"),
    (
        ".".join(f"a{level}" for level in range(33)) + "=b",
        "The document path has too many nesting levels; nesting levels: 33",
    ),
    # Names, values and operands, condition by condition.
    ("#x = :v", _NO_NAME + "#x"),
    (":v = #x", _NO_VALUE + ":v"),
    ("a.:b = c", _NO_NAME + ":b"),
    ("begins_with(a) and #x=a", _COUNT + "begins_with, number of operands: 1"),
    ("#x=a and begins_with(a)", _NO_NAME + "#x"),
    ("contains(a,b,c)", _COUNT + "contains, number of operands: 3"),
    ("size(a, b) > c", _COUNT + "size, number of operands: 2"),
    ("begins_with(a, :n) and :w=a", _TYPE + "begins_with, operand type: N"),
    (":w=a and begins_with(a, :n)", _NO_VALUE + ":w"),
    ("begins_with(size(a), b)", _TYPE + "begins_with, operand type: N"),
    ("size(size(a)) > b", _TYPE + "size, operand type: N"),
    ("size(:bool) > a", _TYPE + "size, operand type: BOOL"),
    ("a < :bool", _TYPE + "<, operand type: BOOL"),
    (":l >= a", _TYPE + ">=, operand type: L"),
    ("a between a and :bool", _TYPE + "BETWEEN, operand type: BOOL"),
    ("attribute_type(a, :n)", _TYPE + "attribute_type, operand type: N"),
    (
        "attribute_type(a, b)",
        _TYPE + "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
    ),
    (
        "attribute_type(a, :s)",
        "Invalid attribute type name found; type: x, "
        "valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    ),
    ("attribute_exists(:s)", _NO_PATH + "attribute_exists"),
    ("attribute_not_exists(size(a))", _NO_PATH + "attribute_not_exists"),
    ("a = a and #x = b", _DISTINCT + "=, first operand: [a]"),
    ("a in (b, a)", _DISTINCT + "IN, first operand: [a]"),
    ("contains(a.b[1].c, a.b[1].c)", _DISTINCT + "contains, first operand: [a, b, [1], c]"),
    (
        "a between :two and :n",
        _BETWEEN + "upper bound to be greater than or equal to lower bound; lower bound operand: "
        "AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
    ),
    (
        "a between :n and :s",
        _BETWEEN + "same data type for lower and upper bounds; lower bound operand: "
        "AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:x}",
    ),
    (
        f"a IN ({','.join(f'b{number}' for number in range(101))})",
        "The IN operator is provided with too many operands; number of operands: 101",
    ),
    (" AND ".join(["a=b"] * 151), _MANY),
    (" OR ".join(["contains(a,b)"] * 151), _MANY),
    (" AND ".join(["a=b"] * 151) + " AND #f = f", _NO_NAME + "#f"),
    ("NOT " * 300 + "a=b", _MANY),
    ("NOT (" * 600 + "a=b" + ")" * 600, _MANY),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), _CONDITIONS)
def test_condition_is_refused_in_aws_words(text: str, reason: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        read_scan_arguments({"FilterExpression": text, **_values(text)})
    assert refusal.value.message == f"Invalid FilterExpression: {reason}"


def _clash(verb: str, one: str, two: str) -> str:
    return (
        f"Two document paths {verb} with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


_ADD_TYPE = "Incorrect operand type for operator or function; operator: "

_UPDATES = [
    ("", "The expression can not be empty;"),
    ("SET a = " + "b" * 4096, "Expression size has exceeded the maximum allowed size;"),
    ("INVALID SYNTAX HERE", _syntax("INVALID", "INVALID SYNTAX")),
    ("SET", _syntax("<EOF>", "SET")),
    ("SET a = b,", _syntax("<EOF>", ",")),
    ("SET (a) = b", _syntax("(", "SET (a")),
    ("SET :n = a", _syntax(":n", "SET :n =")),
    ("SET a = b + c + d", _syntax("+", "c + d")),
    ("SET a = (b+c) - d", _syntax("-", ") - d")),
    ("SET a = b + (c - d)", _syntax("-", "c - d")),
    ("SET a = if_not_exists(b, c + d)", _syntax("+", "c + d")),
    ("ADD a b", _syntax("b", "a b")),
    ("ADD a (:n)", _syntax("(", "a (:n")),
    ("REMOVE a b", _syntax("b", "a b")),
    ("SET a = b REMOVE", _syntax("<EOF>", "REMOVE")),
    ("SET a = ((b + c))", _REDUNDANT),
    ("SET a = ((b)) + c", _REDUNDANT),
    ("SET a = list_append((b),((c)))", _REDUNDANT),
    ("SET a = foo(b) SET status = b", "Invalid function name; function: foo"),
    ("SET status = foo(b)", _RESERVED + "status"),
    ("SET a = size(b)", "The function is not allowed in an update expression; function: size"),
    ("SET a = list_append(b,c) + :n", _MISUSED + "list_append"),
    ("SET a = if_not_exists(b, list_append(c,d))", _MISUSED + "list_append"),
    ("SET #c = d SET abOrt = b", _RESERVED + "abOrt"),
    ("SET a = #c SET c = :d", 'The "SET" section can only be used once in an update expression;'),
    ("REMOVE a REMOVE b", 'The "REMOVE" section can only be used once in an update expression;'),
    # All paths first, then all operands, both from the last action to the first.
    ("SET #n1 = b, #n2 = c", _NO_NAME + "#n2"),
    ("SET #n2 = b, a = #n1", _NO_NAME + "#n2"),
    ("SET a = :q1, b = :q2", _NO_VALUE + ":q2"),
    ("SET a = :q1 + :q2", _NO_VALUE + ":q1"),
    ("SET d = #q, d = :q", _clash("overlap", "[d]", "[d]")),
    ("SET a = b, a.b = c", _clash("overlap", "[a]", "[a, b]")),
    ("SET a = b REMOVE a.b", _clash("overlap", "[a]", "[a, b]")),
    ("SET a.b = b, a[0] = c", _clash("conflict", "[a, b]", "[a, [0]]")),
    ("SET a = b, a = c, d = :q", _clash("overlap", "[a]", "[d]")),
    ("SET a = if_not_exists(b)", _COUNT + "if_not_exists, number of operands: 1"),
    ("SET a = if_not_exists(:n, b)", _NO_PATH + "if_not_exists"),
    ("SET a = if_not_exists(if_not_exists(b,c),d)", _NO_PATH + "if_not_exists"),
    ("SET a = if_not_exists(a, a)", _DISTINCT + "if_not_exists, first operand: [a]"),
    ("SET a = list_append(:s, b)", _TYPE + "list_append, operand type: S"),
    ("SET a = b + :s", _TYPE + "+, operand type: S"),
    ("SET a = :l - :s", _TYPE + "-, operand type: L"),
    ("ADD a :s", _ADD_TYPE + "ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
    ("ADD a :bool", _ADD_TYPE + "ADD, operand type: BOOLEAN, typeSet: ALLOWED_FOR_ADD_OPERAND"),
    ("DELETE a :n",
     _ADD_TYPE + "DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"),
    ("SET b = list_append(:s, a), c = if_not_exists(a) ADD a.b :s",
     _ADD_TYPE + "ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
    ("SET " + ", ".join(f"a{number}=b+c" for number in range(301)), _MANY),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), _UPDATES)
def test_update_is_refused_in_aws_words(text: str, reason: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        read_write_arguments(
            {"UpdateExpression": text, **_values(text)}, kind="update", wording=OLDER
        )
    assert refusal.value.message == f"Invalid UpdateExpression: {reason}"


_PROJECTIONS = [
    ("", "The expression can not be empty;"),
    ("a,", _syntax("<EOF>", ",")),
    ("a,,b", _syntax(",", ",,b")),
    ("(a)", _syntax("(", "(a")),
    (":a", _syntax(":a", ":a")),
    ("foo(a)", _syntax("(", "foo(a")),
    ("!!! INVALID !!!", _syntax("!", "!!")),
    ("a, status, #q", _RESERVED + "status"),
    ("a, a, #q", _NO_NAME + "#q"),
    ("a, a", _clash("overlap", "[a]", "[a]")),
    ("a, a.b", _clash("overlap", "[a]", "[a, b]")),
    ("b[1], b.a, a.b, a", _clash("overlap", "[a, b]", "[a]")),
    ("a.b, a[0]", _clash("conflict", "[a, b]", "[a, [0]]")),
    ("a[0], a.b, a[1], a.c", _clash("conflict", "[a, [1]]", "[a, c]")),
    # The second path named is the last one of a hash table.
    ("a,b,a", _clash("overlap", "[a]", "[b]")),
    ("b, a, b", _clash("overlap", "[b]", "[b]")),
    ("x, a, a.b, c", _clash("overlap", "[a]", "[c]")),
    ("a, a.b, a.b.c, z", _clash("overlap", "[a, b]", "[a, b, c]")),
    ("alpha, beta, gamma, delta, alpha", _clash("overlap", "[alpha]", "[gamma]")),
]


@pytest.mark.parametrize(("text", "reason"), _PROJECTIONS)
def test_projection_is_refused_in_aws_words(text: str, reason: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        read_get_arguments({"ProjectionExpression": text})
    assert refusal.value.message == f"Invalid ProjectionExpression: {reason}"


_OPERATOR = "Invalid operator used in KeyConditionExpression: "
_INVALID_KEY = "Invalid condition in KeyConditionExpression: "

_KEY_CONDITIONS = [
    ("", "Invalid KeyConditionExpression: The expression can not be empty;"),
    ("((p = :s))", f"Invalid KeyConditionExpression: {_REDUNDANT}"),
    ("begins_with(k, :n) AND p = :missing",
     f"Invalid KeyConditionExpression: {_TYPE}begins_with, operand type: N"),
    ("p = :missing AND begins_with(k, :n)", f"Invalid KeyConditionExpression: {_NO_VALUE}:missing"),
    (":bool >= k AND p = :s", f"Invalid KeyConditionExpression: {_TYPE}>=, operand type: BOOL"),
    ("p = :s OR k > :s", _OPERATOR + "OR"),
    ("NOT p = :s", _OPERATOR + "NOT"),
    ("NOT NOT p = :s", _OPERATOR + "NOT"),
    ("p <> :s", _OPERATOR + "<>"),
    ("p IN (:s)", _OPERATOR + "IN"),
    ("attribute_exists(p)", _OPERATOR + "attribute_exists"),
    ("contains(a.d, b)", _OPERATOR + "contains"),
    (":s between size(b) and size(a)",
     _INVALID_KEY + "BETWEEN operator must have the key attribute as its first operand"),
    ("begins_with(:s, b)",
     _INVALID_KEY + "begins_with operator must have the key attribute as its first operand"),
    ("size(b) > a", "KeyConditionExpressions cannot contain nested operations"),
    ("a > size(b.d)", "KeyConditionExpressions cannot contain nested operations"),
    ("b > a.b", _INVALID_KEY + "Multiple attribute names used in one condition"),
    ("a between b and size(a)", _INVALID_KEY + "Multiple attribute names used in one condition"),
    ("b.d > a", "KeyConditionExpressions cannot have conditions on nested attributes"),
    (":s > :a", _INVALID_KEY + "No key attribute specified"),
    ("p > :n AND p < :two",
     "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition "
     "per key"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), _KEY_CONDITIONS)
def test_key_condition_is_refused_in_aws_words(text: str, message: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        read_query_arguments({"KeyConditionExpression": text, **_values(text)})
    assert refusal.value.message == message


@pytest.mark.parametrize(
    "text",
    [
        "((a=b) AND (c=d))",
        "(a) = (b)",
        "a IN ((b))",
        "(not (a = b))",
        "a = b and ((c = d) and e = f)",
        "a=b and(c=d)or(e=f)",
        "NOT NOT a = b",
        "NOT " * 299 + "a=b",
        "a . b [ 0 ] . c = d",
        "n[2147483647]=b",
        ":n = :n",
        "size(a) = size(a)",
        "contains = a",
        "a between b and b",
        "a in (b, b)",
        " OR ".join(["contains(a,b)"] * 150),
    ],
)
def test_condition_is_accepted(text: str) -> None:
    assert read_scan_arguments({"FilterExpression": text, **_values(text)}).filter is not None
