"""UpdateItem: every clause of update expressions, what it returns, what it refuses."""

import re
from typing import Any

import pytest

KEY = {"p": {"S": "k"}}
ITEM: dict[str, Any] = {
    **KEY,
    "n": {"N": "5"},
    "s": {"S": "text"},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "l": {"L": [{"S": "zero"}, {"S": "one"}, {"S": "two"}]},
    "m": {"M": {"a": {"N": "1"}, "deep": {"M": {"x": {"S": "y"}}}}},
}


@pytest.fixture
def update(client, hash_table):
    """Put the item, apply an update and return the item afterwards."""

    def apply(expression, names=None, put=True, **values):
        if put:
            client.put_item(TableName=hash_table, Item=ITEM)
        request = {"TableName": hash_table, "Key": KEY, "UpdateExpression": expression}
        if names:
            request["ExpressionAttributeNames"] = names
        if values:
            request["ExpressionAttributeValues"] = {f":{k}": v for k, v in values.items()}
        answer = client.update_item(**request, ReturnValues="ALL_NEW")
        for attribute in answer["Attributes"].values():
            for kind in ("SS", "NS"):
                if kind in attribute:
                    attribute[kind].sort()
        return answer["Attributes"]

    return apply


def changed(**attributes):
    """Return the item with some attributes replaced, or removed where None."""
    return {k: v for k, v in {**ITEM, **attributes}.items() if v is not None}


def test_set_writes_plain_and_nested_attributes(update):
    assert update("SET s = :v, m.a = :v, m.fresh = :v, l[1] = :v", v={"S": "new"}) == changed(
        s={"S": "new"},
        l={"L": [{"S": "zero"}, {"S": "new"}, {"S": "two"}]},
        m={"M": {"a": {"S": "new"}, "deep": {"M": {"x": {"S": "y"}}}, "fresh": {"S": "new"}}},
    )


def test_set_beyond_the_end_of_a_list_appends(update):
    found = update("SET l[7] = :seven, l[5] = :five", seven={"S": "7"}, five={"S": "5"})
    texts = [element["S"] for element in found["l"]["L"]]
    assert texts == ["zero", "one", "two", "5", "7"]


def test_every_operand_is_read_from_the_item_before_the_update(update):
    found = update("SET n = s, s = n, m.a = l[0] REMOVE l[0]")
    assert found == changed(
        n={"S": "text"},
        s={"N": "5"},
        m={"M": {"a": {"S": "zero"}, "deep": {"M": {"x": {"S": "y"}}}}},
        l={"L": [{"S": "one"}, {"S": "two"}]},
    )


def test_arithmetic_adds_and_subtracts(update):
    found = update("SET n = n + :two, m.a = n - m.a", two={"N": "2"})
    assert (found["n"], found["m"]["M"]["a"]) == ({"N": "7"}, {"N": "4"})


def test_if_not_exists_keeps_what_is_there(update):
    found = update(
        "SET n = if_not_exists(n, :v), fresh = if_not_exists(fresh, :v), "
        "tally = if_not_exists(tally, :v) + :v",
        v={"N": "10"},
    )
    assert found == changed(fresh={"N": "10"}, tally={"N": "20"})


def test_list_append_joins_lists_at_either_end(update):
    more = {"L": [{"N": "1"}, {"N": "2"}]}
    end = update("SET l = list_append(l, :more)", more=more)
    assert end["l"]["L"] == ITEM["l"]["L"] + more["L"]
    start = update("SET l = list_append(:more, l)", more=more)
    assert start["l"]["L"] == more["L"] + ITEM["l"]["L"]
    fresh = update(
        "SET fresh = list_append(if_not_exists(fresh, :empty), :more)", more=more, empty={"L": []}
    )
    assert fresh["fresh"] == more


def test_remove_takes_attributes_and_elements_away(update):
    assert update("REMOVE n, m.deep, l[0], l[2], absent") == changed(
        n=None, m={"M": {"a": {"N": "1"}}}, l={"L": [{"S": "one"}]}
    )


def test_add_counts_and_unites(update):
    found = update(
        "ADD n :three, ss :sb, ns :n23, fresh :three, fresh_set :sb",
        three={"N": "3"},
        sb={"SS": ["b", "c"]},
        n23={"NS": ["2.0", "3"]},
    )
    assert found == changed(
        n={"N": "8"},
        ss={"SS": ["a", "b", "c"]},
        ns={"NS": ["1", "2", "3"]},
        fresh={"N": "3"},
        fresh_set={"SS": ["b", "c"]},
    )


def test_delete_takes_elements_out_of_sets_and_drops_an_empty_set(update):
    found = update(
        "DELETE ss :sb, ns :all, absent :sb", sb={"SS": ["b", "z"]}, all={"NS": ["1.0", "2", "9"]}
    )
    assert found == changed(ss={"SS": ["a"]}, ns=None)


def test_all_clauses_in_one_expression(update):
    found = update(
        "SET s = :v REMOVE l ADD n :one DELETE ss :sa",
        v={"S": "v"},
        one={"N": "1"},
        sa={"SS": ["a"]},
    )
    assert found == changed(s={"S": "v"}, l=None, n={"N": "6"}, ss={"SS": ["b"]})


def test_update_makes_a_missing_item(update, client, hash_table):
    assert update("SET a = :v", put=False, v={"S": "v"}) == {**KEY, "a": {"S": "v"}}
    answer = client.update_item(
        TableName=hash_table, Key={"p": {"S": "bare"}}, ReturnValues="ALL_NEW"
    )
    assert answer["Attributes"] == {"p": {"S": "bare"}}


MEMBERS = {"SS": ["a"]}
TAKES_AWAY = [
    {"UpdateExpression": "REMOVE a"},
    {"UpdateExpression": "REMOVE a.b, c[0]"},
    {"UpdateExpression": "DELETE a :m", "ExpressionAttributeValues": {":m": MEMBERS}},
    {"UpdateExpression": "REMOVE b DELETE a :m", "ExpressionAttributeValues": {":m": MEMBERS}},
    {"AttributeUpdates": {"a": {"Action": "DELETE"}}},
    {"AttributeUpdates": {"a": {"Action": "DELETE", "Value": MEMBERS}}},
]


@pytest.mark.parametrize("change", TAKES_AWAY, ids=str)
@pytest.mark.parametrize("choice", ["ALL_NEW", "ALL_OLD", "UPDATED_NEW", "UPDATED_OLD"])
def test_only_taking_away_from_a_missing_item_makes_none(client, hash_table, change, choice):
    answer = client.update_item(
        TableName=hash_table,
        Key=KEY,
        ReturnValues=choice,
        ReturnConsumedCapacity="TOTAL",
        **change,
    )
    assert "Attributes" not in answer
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 1
    assert "Item" not in client.get_item(TableName=hash_table, Key=KEY)
    assert client.scan(TableName=hash_table)["Count"] == 0


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"AttributeUpdates": {}},
        {
            "UpdateExpression": "REMOVE b SET a = :m",
            "ExpressionAttributeValues": {":m": MEMBERS},
        },
        {"UpdateExpression": "ADD a :m", "ExpressionAttributeValues": {":m": MEMBERS}},
    ],
    ids=str,
)
def test_an_update_that_does_not_only_take_away_makes_a_missing_item(client, hash_table, change):
    client.update_item(TableName=hash_table, Key=KEY, **change)
    assert client.get_item(TableName=hash_table, Key=KEY)["Item"]["p"] == KEY["p"]


def test_only_taking_away_from_a_missing_item_in_a_transaction_makes_none(client, hash_table):
    update = {"TableName": hash_table, "Key": KEY, "UpdateExpression": "REMOVE a.b"}
    put = {"TableName": hash_table, "Item": {"p": {"S": "other"}}}
    answer = client.transact_write_items(
        TransactItems=[{"Update": update}, {"Put": put}], ReturnConsumedCapacity="TOTAL"
    )
    assert answer["ConsumedCapacity"][0]["CapacityUnits"] == 4
    assert client.scan(TableName=hash_table)["Items"] == [put["Item"]]


RETURNED = [
    ("NONE", None),
    ("ALL_OLD", ITEM),
    ("ALL_NEW", changed(n={"N": "6"}, made={"N": "1"})),
    ("UPDATED_OLD", {"n": {"N": "5"}}),
    ("UPDATED_NEW", {"n": {"N": "6"}, "made": {"N": "1"}}),
]


@pytest.mark.parametrize(("choice", "expected"), RETURNED)
def test_return_values(client, hash_table, choice, expected):
    client.put_item(TableName=hash_table, Item=ITEM)
    answer = client.update_item(
        TableName=hash_table,
        Key=KEY,
        UpdateExpression="SET n = n + :one, made = :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues=choice,
    )
    found = answer.get("Attributes")
    for name in ("ss", "ns"):
        if found and name in found:
            next(iter(found[name].values())).sort()
    assert found == expected


@pytest.mark.beyond_dynamodb_local("it returns the whole attribute")
def test_updated_values_of_a_nested_path_are_the_path_alone(client, hash_table):
    client.put_item(TableName=hash_table, Item=ITEM)
    request = {
        "TableName": hash_table,
        "Key": KEY,
        "UpdateExpression": "SET m.a = :v",
        "ExpressionAttributeValues": {":v": {"N": "2"}},
    }
    old = client.update_item(**request, ReturnValues="UPDATED_OLD")
    assert old["Attributes"] == {"m": {"M": {"a": {"N": "1"}}}}
    new = client.update_item(**request, ReturnValues="UPDATED_NEW")
    assert new["Attributes"] == {"m": {"M": {"a": {"N": "2"}}}}


def test_updated_old_of_a_missing_item_returns_nothing(client, hash_table):
    answer = client.update_item(
        TableName=hash_table,
        Key=KEY,
        UpdateExpression="SET n = :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="UPDATED_OLD",
    )
    assert "Attributes" not in answer


ONE = {"one": {"N": "1"}}
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
BAD_PATH = "The document path provided in the update expression is invalid for update"
ABSENT = "The provided expression refers to an attribute that does not exist in the item"
OVERLAP = (
    "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite "
    "one of these paths; path one: {}, path two: {}"
)
CONFLICT = (
    "Invalid UpdateExpression: Two document paths conflict with each other; must remove or "
    "rewrite one of these paths; path one: {}, path two: {}"
)
OPERAND = (
    "Invalid UpdateExpression: Incorrect operand type for operator or function; "
    "operator or function: {}, operand type: {}"
)
SET_OPERAND = (
    "Invalid UpdateExpression: Incorrect operand type for operator or function; "
    "operator: {}, operand type: {}, typeSet: ALLOWED_FOR_{}_OPERAND"
)
REFUSED = [
    ("SET n = s + :one", ONE, WRONG_TYPE),
    ("SET n = absent + :one", ONE, ABSENT),
    ("SET n = absent", {}, ABSENT),
    ("SET l = list_append(s, :l)", {"l": {"L": []}}, WRONG_TYPE),
    ("ADD s :one", ONE, WRONG_TYPE),
    ("ADD ss :one", ONE, WRONG_TYPE),
    ("DELETE ns :v", {"v": {"SS": ["a"]}}, WRONG_TYPE),
    ("SET absent.a = :one", ONE, BAD_PATH),
    ("SET s.a = :one", ONE, BAD_PATH),
    ("SET m[0] = :one", ONE, BAD_PATH),
    ("SET l.a = :one", ONE, BAD_PATH),
    ("REMOVE absent.a", {}, BAD_PATH),
    ("SET n = :one, n = :one", ONE, OVERLAP.format("[n]", "[n]")),
    ("SET m = :one REMOVE m.a", ONE, OVERLAP.format("[m]", "[m, a]")),
    ("SET x.a = :one, x[0] = :one", ONE, CONFLICT.format("[x, a]", "[x, [0]]")),
    ("ADD n :v", {"v": {"S": "a"}}, SET_OPERAND.format("ADD", "STRING", "ADD")),
    ("DELETE ss :v", {"v": {"N": "1"}}, SET_OPERAND.format("DELETE", "NUMBER", "DELETE")),
    ("SET n = n + :v", {"v": {"S": "a"}}, OPERAND.format("+", "S")),
    ("SET l = list_append(l, :v)", {"v": {"S": "a"}}, OPERAND.format("list_append", "S")),
    ("SET n = :one SET s = :one", ONE, 'Invalid UpdateExpression: The "SET" section can only be '
     "used once in an update expression;"),
    ("SET p = :one", ONE, "One or more parameter values were invalid: Cannot update attribute p. "
     "This attribute is part of the key"),
    ("", {}, "Invalid UpdateExpression: The expression can not be empty;"),
    ("SET n", {}, 'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "n"'),
    ("n = :one", ONE, 'Invalid UpdateExpression: Syntax error; token: "n", near: "n ="'),
    ("SET n = :one,", ONE, 'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: ","'),
    ("SET n = size(s)", {}, "Invalid UpdateExpression: The function is not allowed in an update "
     "expression; function: size"),
    ("SET n = odd(s)", {}, "Invalid UpdateExpression: Invalid function name; function: odd"),
    ("SET n = if_not_exists(:one, :one)", ONE, "Invalid UpdateExpression: Operator or function "
     "requires a document path; operator or function: if_not_exists"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "values", "text"), REFUSED)
def test_update_is_refused_and_changes_nothing(
    client, hash_table, update, refused, expression, values, text
):
    is_enveloped = text.startswith("Invalid UpdateExpression")
    with refused("ValidationException", text, is_enveloped):
        update(expression, **values)
    found = client.get_item(TableName=hash_table, Key=KEY)["Item"]
    assert found["n"] == {"N": "5"}


def test_index_keys_cannot_take_other_types_by_an_update(client, tables, refused):
    table = tables.create("p:S", indexes={"by_n": ("n:N",)})
    text = re.compile("secondary index key to unsupported type|Type mismatch for Index Key")
    with refused("ValidationException", text):
        client.update_item(
            TableName=table,
            Key=KEY,
            UpdateExpression="SET n = :v",
            ExpressionAttributeValues={":v": {"S": "text"}},
        )
