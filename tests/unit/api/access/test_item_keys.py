"""Fine-grained access to items, and attempts to get around it."""

from typing import Any

import pytest

from tests.harness.guarded import KEY, TABLE, GuardedSite, allow, deny

MINE = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}}
ANN = {"p": {"S": "ann"}, "s": {"S": "1"}}
BOB = {"p": {"S": "bob"}, "s": {"S": "1"}}


@pytest.fixture
def site():
    made = GuardedSite()
    made.create()
    return made


def test_a_user_reaches_items_under_its_own_name_only(site):
    site.be(allow("dynamodb:*", TABLE, Condition=MINE))
    assert site.refusal("GetItem", TableName="games", Key=ANN) == ""
    assert site.refusal("GetItem", TableName="games", Key=BOB)
    assert site.refusal("PutItem", TableName="games", Item=BOB)
    assert site.refusal("BatchGetItem", RequestItems={"games": {"Keys": [ANN, BOB]}})
    assert site.refusal(
        "BatchWriteItem",
        RequestItems={"games": [{"PutRequest": {"Item": ANN}}, {"DeleteRequest": {"Key": BOB}}]},
    )
    assert site.refusal(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": "games", "Item": ANN}},
            {"Delete": {"TableName": "games", "Key": BOB}},
        ],
    )


@pytest.mark.parametrize(("name", "is_allowed"), [("ann", True), ("bob", False)])
def test_a_query_is_held_to_its_partition(site, name, is_allowed):
    site.be(allow("dynamodb:Query", TABLE, Condition=MINE))
    new = {
        "KeyConditionExpression": "#p = :p AND s > :s",
        "ExpressionAttributeNames": {"#p": "p"},
        "ExpressionAttributeValues": {":p": {"S": name}, ":s": {"S": "0"}},
    }
    old = {
        "KeyConditions": {
            "p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": name}]},
        }
    }
    for request in (new, old):
        assert (site.refusal("Query", TableName="games", **request) == "") == is_allowed


@pytest.mark.parametrize(("name", "is_allowed"), [("ann", True), ("bob", False)])
def test_a_statement_is_held_to_its_partition(site, name, is_allowed):
    site.be(allow("dynamodb:PartiQL*", TABLE, Condition=MINE))
    for statement in (
        f"SELECT * FROM games WHERE p='{name}'",
        f"SELECT * FROM games WHERE p='ann' OR p='{name}'",
        f"SELECT * FROM games WHERE p IN ['ann', '{name}']",
        f"INSERT INTO games VALUE {{'p':'{name}','s':'9'}}",
        f"UPDATE games SET x=1 WHERE p='{name}' AND s='9'",
        f"DELETE FROM games WHERE p='{name}' AND s='9'",
    ):
        assert (site.refusal("ExecuteStatement", Statement=statement) == "") == is_allowed


def test_members_that_an_operation_ignores_persuade_no_policy(site):
    site.be(allow("dynamodb:*", TABLE, Condition=MINE))
    assert site.refusal("PutItem", TableName="games", Item=BOB, Key=ANN)
    site.be(
        allow(
            "dynamodb:GetItem",
            TABLE,
            Condition={"StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}},
        )
    )
    assert site.refusal("GetItem", TableName="games", Key=KEY, Select="SPECIFIC_ATTRIBUTES")
    assert site.refusal("GetItem", TableName="games", Key=KEY, ProjectionExpression="p") == ""


def test_attributes_are_found_wherever_they_are_named(site):
    site.be(
        allow(
            "dynamodb:*",
            TABLE,
            Condition={"ForAllValues:StringEquals": {"dynamodb:Attributes": ["p", "s", "shown"]}},
        )
    )
    key = {"TableName": "games", "Key": KEY}
    assert site.refusal("GetItem", **key, ProjectionExpression="p, shown") == ""
    names = {"#x": "secret"}
    refused: list[Any] = [
        ("GetItem", {"ProjectionExpression": "#x.deep[0]", "ExpressionAttributeNames": names}),
        ("GetItem", {"AttributesToGet": ["secret"]}),
        ("UpdateItem", {"UpdateExpression": "SET shown = secret"}),
        ("UpdateItem", {"UpdateExpression": "REMOVE shown, secret"}),
        ("UpdateItem", {"UpdateExpression": "SET shown = if_not_exists(secret, shown)"}),
        ("UpdateItem", {"AttributeUpdates": {"secret": {"Action": "DELETE"}}}),
        (
            "DeleteItem",
            {"ConditionExpression": "NOT (attribute_exists(shown) OR size(secret) > s)"},
        ),
        ("DeleteItem", {"Expected": {"secret": {"Exists": False}}}),
    ]
    for operation, members in refused:
        assert site.refusal(operation, **key, **members), members
    assert site.refusal("PutItem", TableName="games", Item={**KEY, "secret": {"S": "x"}})
    statements = (
        "SELECT secret FROM games WHERE p='a'",
        "SELECT p FROM games WHERE p='a' AND secret.deep=1",
        "UPDATE games SET shown=secret WHERE p='a' AND s='1'",
        "INSERT INTO games VALUE {'p':'a','s':'8','secret':1}",
    )
    for statement in statements:
        assert site.refusal("ExecuteStatement", Statement=statement), statement


def test_an_index_is_a_resource_of_its_own(site):
    query = {
        "TableName": "games",
        "IndexName": "by-both",
        "KeyConditionExpression": "#l = :l AND score = :n",
        "ExpressionAttributeNames": {"#l": "level"},
        "ExpressionAttributeValues": {":l": {"S": "x"}, ":n": {"N": "07.0"}},
    }
    site.be(allow("dynamodb:Query", TABLE))
    assert f"on resource: {TABLE}/index/by-both because" in site.refusal("Query", **query)
    for second, is_allowed in (("7", True), ("8", False)):
        condition = {
            "ForAllValues:StringEquals": {
                "dynamodb:FirstPartitionKeyValues": "x",
                "dynamodb:SecondPartitionKeyValues": second,
            }
        }
        site.be(allow("dynamodb:Query", f"{TABLE}/index/*", Condition=condition))
        assert (site.refusal("Query", **query) == "") == is_allowed


def test_a_failed_condition_counts_as_returned_values(site):
    site.be(allow(Condition={"StringEquals": {"dynamodb:ReturnValues": "NONE"}}))
    request = {"TableName": "games", "Key": KEY, "ConditionExpression": "attribute_not_exists(p)"}
    assert site.refusal("DeleteItem", **request) == ""
    assert site.refusal("DeleteItem", **request, ReturnValuesOnConditionCheckFailure="ALL_OLD")


def test_full_table_scans_of_statements_can_be_denied(site):
    scans = {"Bool": {"dynamodb:FullTableScan": "true"}}
    site.be(allow(), deny("dynamodb:PartiQLSelect", Condition=scans))
    assert site.refusal("ExecuteStatement", Statement="SELECT * FROM games")
    assert site.refusal("ExecuteStatement", Statement="SELECT * FROM games WHERE s='1'")
    assert site.refusal("ExecuteStatement", Statement="SELECT * FROM games WHERE p='a' OR s='1'")
    assert site.refusal("ExecuteStatement", Statement="SELECT * FROM games WHERE p='a'") == ""


def test_tags_of_a_table_decide(site):
    site.be(allow(Condition={"StringEquals": {"aws:ResourceTag/Team": "blue"}}))
    get = {"TableName": "games", "Key": KEY}
    assert site.refusal("GetItem", **get)
    site.be_root()
    site.call("TagResource", ResourceArn=TABLE, Tags=[{"Key": "Team", "Value": "blue"}])
    site.be(allow(Condition={"StringEquals": {"aws:ResourceTag/Team": "blue"}}))
    assert site.refusal("GetItem", **get) == ""
