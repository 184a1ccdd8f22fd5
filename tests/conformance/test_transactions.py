"""TransactWriteItems and TransactGetItems: all or nothing, reasons, tokens and limits."""

import re
import uuid
from typing import Any

import pytest

CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]"


def key(name):
    return {"p": {"S": name}}


@pytest.fixture
def table(client, hash_table):
    for name in ("a", "b"):
        client.put_item(TableName=hash_table, Item={**key(name), "n": {"N": "1"}})
    return hash_table


def item_of(client, table, name):
    return client.get_item(TableName=table, Key=key(name)).get("Item")


def test_every_kind_of_action_in_one_transaction(client, table):
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": {**key("c"), "n": {"N": "3"}}}},
            {
                "Update": {
                    "TableName": table,
                    "Key": key("a"),
                    "UpdateExpression": "SET n = n + :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
            },
            {"Delete": {"TableName": table, "Key": key("b")}},
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": key("absent"),
                    "ConditionExpression": "attribute_not_exists(p)",
                }
            },
        ]
    )
    assert item_of(client, table, "c")["n"] == {"N": "3"}
    assert item_of(client, table, "a")["n"] == {"N": "2"}
    assert item_of(client, table, "b") is None


def test_one_failed_condition_undoes_all_and_gives_reasons_by_place(client, table, refused):
    actions = [
        {"Put": {"TableName": table, "Item": key("c")}},
        {
            "Delete": {
                "TableName": table,
                "Key": key("a"),
                "ConditionExpression": "n > :n",
                "ExpressionAttributeValues": {":n": {"N": "5"}},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        },
        {
            "ConditionCheck": {
                "TableName": table,
                "Key": key("b"),
                "ConditionExpression": "attribute_not_exists(p)",
            }
        },
    ]
    text = CANCELLED.format("None, ConditionalCheckFailed, ConditionalCheckFailed")
    with refused("TransactionCanceledException", text) as caught:
        client.transact_write_items(TransactItems=actions)
    none, first, second = caught.value.response["CancellationReasons"]
    assert none == {"Code": "None"}
    assert first["Code"] == second["Code"] == "ConditionalCheckFailed"
    assert first["Message"].rstrip(".") == "The conditional request failed"
    assert first["Item"] == {**key("a"), "n": {"N": "1"}}
    assert "Item" not in second
    assert item_of(client, table, "c") is None
    assert item_of(client, table, "a") is not None


@pytest.mark.beyond_dynamodb_local("it refuses the request as a whole")
def test_an_update_that_cannot_be_done_cancels(client, table, refused):
    actions = [
        {"Put": {"TableName": table, "Item": key("c")}},
        {
            "Update": {
                "TableName": table,
                "Key": key("a"),
                "UpdateExpression": "SET n = absent + :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }
        },
    ]
    text = CANCELLED.format("None, ValidationError")
    with refused("TransactionCanceledException", text) as caught:
        client.transact_write_items(TransactItems=actions)
    assert caught.value.response["CancellationReasons"][1] == {
        "Code": "ValidationError",
        "Message": "The provided expression refers to an attribute that does not exist in the item",
    }
    assert item_of(client, table, "c") is None


def test_an_item_takes_part_once(client, table, refused):
    text = "Transaction request cannot include multiple operations on one item"
    with refused("ValidationException", text):
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": key("a")}},
                {"Delete": {"TableName": table, "Key": key("a")}},
            ]
        )


def test_a_token_makes_a_transaction_happen_once(client, table, refused):
    def add(amount, token):
        client.transact_write_items(
            ClientRequestToken=token,
            TransactItems=[
                {
                    "Update": {
                        "TableName": table,
                        "Key": key("a"),
                        "UpdateExpression": "ADD n :v",
                        "ExpressionAttributeValues": {":v": {"N": str(amount)}},
                    }
                }
            ],
        )

    token = str(uuid.uuid4())
    for _ in range(3):
        add(10, token)
    assert item_of(client, table, "a")["n"] == {"N": "11"}
    with refused("IdempotentParameterMismatchException", re.compile("")):
        add(20, token)
    add(10, str(uuid.uuid4()))
    assert item_of(client, table, "a")["n"] == {"N": "21"}


def test_a_failed_transaction_does_not_use_up_its_token(client, table, refused):
    token = str(uuid.uuid4())
    request = {
        "ClientRequestToken": token,
        "TransactItems": [
            {
                "Put": {
                    "TableName": table,
                    "Item": key("late"),
                    "ConditionExpression": "attribute_not_exists(p)",
                }
            }
        ],
    }
    client.put_item(TableName=table, Item=key("late"))
    with refused("TransactionCanceledException", CANCELLED.format("ConditionalCheckFailed")):
        client.transact_write_items(**request)
    client.delete_item(TableName=table, Key=key("late"))
    client.transact_write_items(**request)
    assert item_of(client, table, "late") == key("late")


def test_gets_answer_in_order_with_gaps(client, table):
    answer = client.transact_get_items(
        TransactItems=[
            {"Get": {"TableName": table, "Key": key("b"), "ProjectionExpression": "n"}},
            {"Get": {"TableName": table, "Key": key("absent")}},
            {"Get": {"TableName": table, "Key": key("a")}},
        ]
    )
    assert answer["Responses"] == [
        {"Item": {"n": {"N": "1"}}},
        {},
        {"Item": {**key("a"), "n": {"N": "1"}}},
    ]


def test_a_hundred_actions_are_allowed_and_one_more_is_not(client, table, refused):
    def puts(count):
        return [{"Put": {"TableName": table, "Item": key(f"k{n}")}} for n in range(count)]

    client.transact_write_items(TransactItems=puts(100))
    assert client.scan(TableName=table)["Count"] == 102
    text = re.compile("Member must have length less than or equal to 100")
    with refused("ValidationException", text):
        client.transact_write_items(TransactItems=puts(101))


def test_a_transaction_has_at_most_4_megabytes(client, table, refused):
    items = [
        {"Put": {"TableName": table, "Item": {**key(f"k{n}"), "v": {"S": "x" * 390_000}}}}
        for n in range(11)
    ]
    text = "Transaction payload size cannot exceed 4MB. Payload Size: 4290045"
    with refused("ValidationException", text):
        client.transact_write_items(TransactItems=items)
    client.transact_write_items(TransactItems=items[:10])


def test_each_element_holds_one_action(client, table, refused):
    element = {
        "Put": {"TableName": table, "Item": key("c")},
        "Delete": {"TableName": table, "Key": key("d")},
    }
    text = "TransactItems can only contain one of Check, Put, Update or Delete"
    with refused("ValidationException", text):
        client.transact_write_items(TransactItems=[element])
    with refused("ValidationException", re.compile("")):
        client.transact_write_items(TransactItems=[{}])


def actions_on(table, key):
    condition = {"ConditionExpression": "attribute_not_exists(p)"}
    update = {
        "UpdateExpression": "SET a = :a",
        "ExpressionAttributeValues": {":a": {"S": "a"}},
    }
    return [
        {"Put": {"TableName": table, "Item": key}},
        {"Delete": {"TableName": table, "Key": key}},
        {"Update": {"TableName": table, "Key": key, **update}},
        {"ConditionCheck": {"TableName": table, "Key": key, **condition}},
    ]


@pytest.mark.beyond_dynamodb_local("it refuses more of them up front")
def test_an_empty_key_is_refused_and_one_of_another_type_cancels(client, table, refused):
    empty = (
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        "cannot contain an empty string value. Key: p"
    )
    for action in actions_on(table, {"p": {"S": ""}}):
        with refused("ValidationException", empty):
            client.transact_write_items(TransactItems=[action])
    for action in actions_on(table, {"p": {"N": "1"}}):
        text = CANCELLED.format("ValidationError")
        with refused("TransactionCanceledException", text) as caught:
            client.transact_write_items(TransactItems=[action])
        (reason,) = caught.value.response["CancellationReasons"]
        assert reason["Message"] == (
            "One or more parameter values were invalid: Type mismatch for key p expected: S "
            "actual: N"
            if "Put" in action
            else "The provided key element does not match the schema"
        )


@pytest.mark.beyond_dynamodb_local("it refuses more of them up front")
def test_the_first_malformed_key_alone_is_reported(client, table, refused):
    good, bad, worse = key("good"), {"p": {"N": "1"}}, {"q": {"S": "k"}}
    keys = (good, bad, worse)
    text = CANCELLED.format("None, ValidationError, None")
    with refused("TransactionCanceledException", text) as caught:
        client.transact_write_items(
            TransactItems=[{"Delete": {"TableName": table, "Key": key}} for key in keys]
        )
    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ValidationError", "None"]
    with refused("TransactionCanceledException", text):
        client.transact_get_items(
            TransactItems=[{"Get": {"TableName": table, "Key": key}} for key in keys]
        )


@pytest.mark.beyond_dynamodb_local("it checks keys first")
def test_actions_are_checked_in_their_order_and_expressions_before_keys(client, table, refused):
    deep: dict[str, Any] = {"S": "leaf"}
    for _ in range(40):
        deep = {"L": [deep]}
    malformed = {"ConditionExpression": "a = = b"}
    syntax = 'Invalid ConditionExpression: Syntax error; token: "=", near: "= = b"'
    nesting = (
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
        "levels beyond supported limit"
    )
    put = {"Put": {"TableName": "absent", "Item": key("c"), **malformed}}
    delete = {"Delete": {"TableName": "absent", "Key": {"p": deep}}}
    for actions, text in (
        ([put, delete], syntax),
        ([delete, put], nesting),
        ([{"Delete": {**delete["Delete"], **malformed}}], syntax),
    ):
        with refused("ValidationException", text):
            client.transact_write_items(TransactItems=actions)


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_too_deep_values_of_expressions_are_refused_before_a_transaction(client, table, refused):
    nesting = (
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
        "levels beyond supported limit"
    )
    named = f"ExpressionAttributeValues contains invalid value: {nesting} for key :deep"
    for depth, text in ((32, nesting), (33, named), (61, named)):
        deep: dict[str, Any] = {"S": "leaf"}
        for _ in range(depth):
            deep = {"M": {"n": deep}}
        check = {
            "TableName": table,
            "Key": key("a"),
            "ConditionExpression": "v = :deep",
            "ExpressionAttributeValues": {":deep": deep},
        }
        with refused("ValidationException", text):
            client.transact_write_items(TransactItems=[{"ConditionCheck": check}])
