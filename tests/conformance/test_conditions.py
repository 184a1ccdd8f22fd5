"""Condition expressions: what is true of an item, and which expressions are refused."""

import os
import re

import pytest

ITEM = {
    "p": {"S": "k"},
    "s": {"S": "hello"},
    "n": {"N": "5"},
    "b": {"B": b"\x01\x02"},
    "t": {"BOOL": True},
    "nil": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.5"]},
    "l": {"L": [{"S": "a"}, {"N": "1"}, {"M": {"x": {"N": "9"}}}]},
    "m": {"M": {"a": {"S": "inner"}, "inside": {"L": [{"S": "z"}]}}},
}
VALUES = {
    ":five": {"N": "5"},
    ":six": {"N": "6"},
    ":four": {"N": "4.0"},
    ":hello": {"S": "hello"},
    ":he": {"S": "he"},
    ":ell": {"S": "ell"},
    ":z": {"S": "zzz"},
    ":a": {"S": "a"},
    ":one": {"N": "1.0"},
    ":two": {"N": "2"},
    ":three": {"N": "3"},
    ":bytes": {"B": b"\x01"},
    ":true": {"BOOL": True},
    ":null": {"NULL": True},
    ":ba": {"SS": ["b", "a"]},
    ":type_s": {"S": "S"},
    ":type_null": {"S": "NULL"},
    ":element": {"M": {"x": {"N": "9.0"}}},
}
TRUE = [
    "n = :five",
    "n <> :six",
    "n < :six AND n <= :five AND n > :four AND n >= :five",
    "n BETWEEN :four AND :six",
    "n BETWEEN :five AND :five",
    "n IN (:six, :hello, :five)",
    "s = :hello AND begins_with(s, :he) AND contains(s, :ell)",
    "begins_with(b, :bytes) AND contains(b, :bytes)",
    "t = :true AND nil = :null",
    "ss = :ba",
    "contains(ss, :a) AND contains(ns, :one)",
    "contains(l, :a) AND contains(l, :one) AND contains(l, :element)",
    "size(s) = :five AND size(b) = :two AND size(ss) = :two",
    "size(l) = :three AND size(m) = :two",
    "attribute_exists(m.a) AND attribute_not_exists(m.b) AND attribute_not_exists(l[3])",
    "attribute_type(s, :type_s) AND attribute_type(nil, :type_null)",
    "attribute_exists(l[2].x) AND m.inside[0] > :hello OR :hello = s",
    "NOT n = :six AND NOT (s = :z OR n = :six)",
    "n = :six OR n = :five AND s = :hello",
    "(n = :six OR n = :five) AND s = :hello",
    "s <> n",
    "absent <> :five",
    "NOT absent = :five",
    ":five = n",
    "size(absent) = :five OR n = :five",
    "m.a <> :five AND l[0] = :a",
]
FALSE = [
    "n = :hello",
    "n <> :five",
    "absent = :five",
    "absent < :five",
    "absent = absent2",
    "s < n",
    "n < :four",
    "n BETWEEN :six AND :six",
    "contains(s, :z)",
    "contains(n, :five)",
    "begins_with(n, :he)",
    "attribute_type(s, :type_null)",
    "size(n) = :five",
    "size(absent) < :five",
    "s IN (:z, :five)",
    "l[9] = :a",
    "s.nested = :a",
    "m[0] = :a",
    "NOT attribute_exists(s)",
    "n = :six OR n = :five AND s = :z",
]


def check(client, table, expression):
    used = {name: value for name, value in VALUES.items() if name in words(expression)}
    more = {"ExpressionAttributeValues": used} if used else {}
    return client.scan(TableName=table, FilterExpression=expression, **more)["Count"] == 1


def words(expression):
    for sign in "(),":
        expression = expression.replace(sign, " ")
    return expression.split()


@pytest.fixture(scope="module")
def table(client):
    """A table with the one item, made once for all expressions."""
    name = f"conditions-{os.getpid()}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName=name, Item=ITEM)
    yield name
    client.delete_table(TableName=name)


@pytest.mark.parametrize("expression", TRUE)
def test_condition_is_true(client, table, expression):
    assert check(client, table, expression)


@pytest.mark.parametrize("expression", FALSE)
def test_condition_is_false(client, table, expression):
    assert not check(client, table, expression)


REFUSED = [
    ("", "The expression can not be empty;"),
    ("n = ", 'Syntax error; token: "<EOF>", near: "= "'),
    ("n == :five", 'Syntax error; token: "=", near: "== :five"'),
    ("n = :five AND", 'Syntax error; token: "<EOF>", near: "AND"'),
    ("(n = :five", 'Syntax error; token: "<EOF>", near: ":five"'),
    ("n = :five)", 'Syntax error; token: ")", near: ":five)"'),
    ("((n = :five))", "The expression has redundant parentheses;"),
    ("name = :five", "Attribute name is a reserved keyword; reserved keyword: name"),
    ("n = :absent", "An expression attribute value used in expression is not defined; "
     "attribute value: :absent"),
    ("#absent = :five", "An expression attribute name used in the document path is not defined; "
     "attribute name: #absent"),
    ("unknown(n)", "Invalid function name; function: unknown"),
    ("size(n)", "The function is not allowed to be used this way in an expression; function: size"),
    ("begins_with(n)", "Incorrect number of operands for operator or function; "
     "operator or function: begins_with, number of operands: 1"),
    ("n = n", "The first operand must be distinct from the remaining operands for this operator "
     "or function; operator: =, first operand: [n]"),
    ("begins_with(s, :five)", "Incorrect operand type for operator or function; "
     "operator or function: begins_with, operand type: N"),
    ("n BETWEEN :six AND :five", "The BETWEEN operator requires upper bound to be greater than or "
     "equal to lower bound; lower bound operand: AttributeValue: {N:6}, "
     "upper bound operand: AttributeValue: {N:5}"),
    ("n BETWEEN :he AND :five", "The BETWEEN operator requires same data type for lower and upper "
     "bounds; lower bound operand: AttributeValue: {S:he}, "
     "upper bound operand: AttributeValue: {N:5}"),
    ("n < :true", "Incorrect operand type for operator or function; operator or function: <, "
     "operand type: BOOL"),
    ("attribute_exists(:five)", "Operator or function requires a document path; "
     "operator or function: attribute_exists"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "text"), REFUSED)
def test_expression_is_refused(client, table, refused, expression, text):
    used = {name: value for name, value in VALUES.items() if name in words(expression)}
    more = {"ExpressionAttributeValues": used} if used else {}
    text = f"Invalid ConditionExpression: {text}"
    with refused("ValidationException", text, is_enveloped=True):
        client.put_item(TableName=table, Item=ITEM, ConditionExpression=expression, **more)


def test_attribute_type_takes_a_types_name(client, table, refused):
    text = re.compile("Invalid ConditionExpression: Invalid attribute type name found; type: text,")
    with refused("ValidationException", text):
        client.put_item(
            TableName=table,
            Item=ITEM,
            ConditionExpression="attribute_type(n, :type)",
            ExpressionAttributeValues={":type": {"S": "text"}},
        )


def test_unused_placeholders_are_refused(client, table, refused):
    with refused(
        "ValidationException",
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}",
        is_enveloped=True,
    ):
        client.put_item(
            TableName=table,
            Item=ITEM,
            ConditionExpression="n = :five",
            ExpressionAttributeNames={"#unused": "x"},
            ExpressionAttributeValues={":five": {"N": "5"}},
        )


def test_a_failed_condition_changes_nothing_and_can_return_the_item(client, hash_table, refused):
    client.put_item(TableName=hash_table, Item=ITEM)
    request = {
        "TableName": hash_table,
        "Item": {"p": {"S": "k"}},
        "ConditionExpression": "attribute_not_exists(p)",
    }
    text = "The conditional request failed"
    with refused("ConditionalCheckFailedException", text) as caught:
        client.put_item(**request)
    assert "Item" not in caught.value.response
    with refused("ConditionalCheckFailedException", text) as caught:
        client.put_item(**request, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert caught.value.response["Item"]["n"] == {"N": "5"}
    found = client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"]
    assert found["s"] == {"S": "hello"}


@pytest.mark.parametrize("operation", ["update_item", "delete_item"])
def test_update_and_delete_obey_conditions(client, hash_table, refused, operation):
    call = getattr(client, operation)
    request = {"TableName": hash_table, "Key": {"p": {"S": "k"}}}
    with refused("ConditionalCheckFailedException", "The conditional request failed"):
        call(**request, ConditionExpression="attribute_exists(p)")
    assert client.scan(TableName=hash_table)["Count"] == 0
    client.put_item(TableName=hash_table, Item=ITEM)
    call(**request, ConditionExpression="attribute_exists(p)")


def test_an_expression_has_at_most_300_operators(client, table, refused):
    values = {":five": {"N": "5"}}
    allowed = " OR ".join(["n = :five"] * 150)
    client.put_item(
        TableName=table,
        Item=ITEM,
        ConditionExpression=allowed,
        ExpressionAttributeValues=values,
    )
    with refused(
        "ValidationException",
        "Invalid ConditionExpression: The expression contains too many operators; "
        "operator count: 301",
        is_enveloped=True,
    ):
        client.put_item(
            TableName=table,
            Item=ITEM,
            ConditionExpression=allowed + " OR n = :five",
            ExpressionAttributeValues=values,
        )


def test_an_expression_has_at_most_4_kilobytes(client, table, refused):
    long_name = "a" * 255
    parts = [f"{long_name} = :five"]
    expression = " OR ".join(parts * 20)
    with refused(
        "ValidationException",
        "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; "
        f"expression size: {len(expression)}",
        is_enveloped=True,
    ):
        client.put_item(
            TableName=table,
            Item=ITEM,
            ConditionExpression=expression,
            ExpressionAttributeValues={":five": {"N": "5"}},
        )


def test_in_takes_at_most_100_operands(client, table, refused):
    names = [f":v{n}" for n in range(101)]
    values = {name: {"N": str(n)} for n, name in enumerate(names)}
    request = {"TableName": table, "Item": ITEM}
    client.put_item(
        **request,
        ConditionExpression=f"n IN ({', '.join(names[:100])})",
        ExpressionAttributeValues=dict(list(values.items())[:100]),
    )
    with refused(
        "ValidationException",
        "Invalid ConditionExpression: The IN operator is provided with too many operands; "
        "number of operands: 101",
        is_enveloped=True,
    ):
        client.put_item(
            **request,
            ConditionExpression=f"n IN ({', '.join(names)})",
            ExpressionAttributeValues=values,
        )
