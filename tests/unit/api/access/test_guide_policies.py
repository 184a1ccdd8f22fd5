"""Policies of the kinds that AWS's guides show, each with what it allows and denies."""

import json
from typing import Any

import pytest

from hashrange.api.scope import Peer
from tests.harness.guarded import REGION, TABLE, GuardedSite, allow, deny

INDEX = f"{TABLE}/index/by-score"
ANN = {"p": {"S": "ann"}, "s": {"S": "1"}}
BOB = {"p": {"S": "bob"}, "s": {"S": "1"}}
READS = [
    *("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"),
    "dynamodb:ConditionCheckItem",
]
WRITES = [
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
]


@pytest.fixture
def site():
    made = GuardedSite()
    made.create()
    return made


def get(key=ANN, **members):
    return ("GetItem", {"TableName": "games", "Key": key, **members})


def put(**attributes):
    return ("PutItem", {"TableName": "games", "Item": {**ANN, **attributes}})


def update(expression, **members):
    return (
        "UpdateItem",
        {"TableName": "games", "Key": ANN, "UpdateExpression": expression, **members},
    )


def query(name="ann", **members):
    values = {":p": {"S": name}}
    request = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": values}
    return ("Query", {"TableName": "games", **request, **members})


def by_score(**members):
    values = {":n": {"N": "7"}}
    request = {"KeyConditionExpression": "score = :n", "ExpressionAttributeValues": values}
    return ("Query", {"TableName": "games", "IndexName": "by-score", **request, **members})


def statement(text):
    return ("ExecuteStatement", {"Statement": text})


SCAN = ("Scan", {"TableName": "games"})
DESCRIBE = ("DescribeTable", {"TableName": "games"})
LIST: tuple[str, dict[str, Any]] = ("ListTables", {})
ONE = update("SET note = :n", ExpressionAttributeValues={":n": {"S": "x"}})


def hold(site, allowed, denied):
    for operation, request in allowed:
        assert site.refusal(operation, **request) == "", (operation, request)
    for operation, request in denied:
        assert site.refusal(operation, **request), (operation, request)


def test_all_actions_on_one_table_and_its_indexes(site):
    site.be(allow("dynamodb:*", [TABLE, f"{TABLE}/index/*"]))
    other = ("GetItem", {"TableName": "other", "Key": ANN})
    hold(site, [get(), put(), SCAN, DESCRIBE, by_score()], [LIST, other])


def test_reading_but_not_writing(site):
    site.be(allow(READS, TABLE))
    hold(site, [get(), query(), SCAN], [put(), ONE, DESCRIBE, by_score()])


def test_reading_and_writing_but_not_administering(site):
    site.be(allow([*READS, *WRITES], TABLE))
    hold(site, [get(), query(), put(), ONE], [DESCRIBE, ("DeleteTable", {"TableName": "games"})])


def test_one_index_only(site):
    site.be(allow("dynamodb:Query", INDEX))
    hold(site, [by_score()], [query(), SCAN])


def test_items_of_the_caller_only(site):
    condition = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}}
    actions = [action for action in READS if action != "dynamodb:Scan"] + WRITES
    site.be(allow(actions, TABLE, Condition=condition))
    hold(site, [get(), query(), put()], [get(BOB), query("bob"), SCAN])


def test_some_attributes_only(site):
    condition = {
        "ForAllValues:StringEquals": {
            "dynamodb:LeadingKeys": ["${aws:username}"],
            "dynamodb:Attributes": ["p", "s", "score"],
        },
        "StringEqualsIfExists": {
            "dynamodb:Select": "SPECIFIC_ATTRIBUTES",
            "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"],
        },
    }
    actions = ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem", "dynamodb:PutItem"]
    site.be(allow(actions, TABLE, Condition=condition))
    hold(
        site,
        [
            get(ProjectionExpression="p, score"),
            query(ProjectionExpression="score", Select="SPECIFIC_ATTRIBUTES"),
            update("REMOVE score"),
            update("REMOVE score", ReturnValues="UPDATED_OLD"),
            put(score={"N": "1"}),
        ],
        [
            get(),
            get(ProjectionExpression="secret"),
            get(BOB, ProjectionExpression="p"),
            query(),
            query(Select="COUNT"),
            update("REMOVE secret"),
            update("REMOVE score", ReturnValues="ALL_OLD"),
            put(secret={"S": "x"}),
        ],
    )


def test_no_updates_of_certain_attributes(site):
    condition = {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["role", "salary"]}}
    site.be(allow("dynamodb:UpdateItem", TABLE), deny("dynamodb:UpdateItem", Condition=condition))
    names = {"#r": "role"}
    hold(
        site,
        [ONE],
        [update("REMOVE salary"), update("REMOVE #r", ExpressionAttributeNames=names)],
    )


def test_only_projected_attributes_of_an_index(site):
    condition = {
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["p", "s", "score"]},
        "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"},
    }
    site.be(allow("dynamodb:Query", INDEX, Condition=condition))
    hold(
        site,
        [by_score(ProjectionExpression="p, s")],
        [by_score(), by_score(ProjectionExpression="p, secret"), query(ProjectionExpression="p")],
    )


def test_no_scans_and_no_full_scans_of_statements(site):
    full = {"Bool": {"dynamodb:FullTableScan": ["true"]}}
    site.be(
        allow("dynamodb:*"),
        deny("dynamodb:Scan"),
        deny("dynamodb:PartiQLSelect", TABLE, Condition=full),
    )
    hold(
        site,
        [get(), statement("SELECT * FROM games WHERE p='ann'")],
        [SCAN, statement("SELECT * FROM games"), statement("SELECT * FROM games WHERE score=1")],
    )


def test_statements_in_transactions_only(site):
    inside = {"StringEquals": {"dynamodb:EnclosingOperation": ["ExecuteTransaction"]}}
    site.be(allow("dynamodb:PartiQL*", TABLE, Condition=inside))
    text = "SELECT * FROM games WHERE p='ann' AND s='1'"
    transaction = ("ExecuteTransaction", {"TransactStatements": [{"Statement": text}]})
    hold(site, [transaction], [statement(text)])


def test_transactions_but_not_single_writes(site):
    inside = {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}}
    site.be(allow(["dynamodb:PutItem", "dynamodb:ConditionCheckItem"], TABLE, Condition=inside))
    single = put()
    transaction = ("TransactWriteItems", {"TransactItems": [{"Put": single[1]}]})
    delete = {"Delete": {"TableName": "games", "Key": ANN}}
    other = ("TransactWriteItems", {"TransactItems": [{"Put": single[1]}, delete]})
    hold(site, [transaction], [single, other])


def test_only_from_some_addresses(site):
    site.be(
        allow(),
        deny(Condition={"NotIpAddress": {"aws:SourceIp": ["192.0.2.0/24", "2001:db8::/32"]}}),
    )
    for address, is_allowed in (
        ("192.0.2.9", True),
        ("2001:db8::5", True),
        ("198.51.100.1", False),
    ):
        site.peer = Peer(address, is_secure=False)
        hold(site, [get()] if is_allowed else [], [] if is_allowed else [get()])


def test_only_within_a_time(site):
    between = {
        "DateGreaterThan": {"aws:CurrentTime": "2026-04-01T00:00:00Z"},
        "DateLessThan": {"aws:CurrentTime": "2026-06-30T23:59:59Z"},
    }
    site.be(allow(Condition=between))
    for now, is_allowed in ((1_774_900_000, False), (1_777_000_000, True), (1_783_000_000, False)):
        site.clock.set(now)
        hold(site, [get()] if is_allowed else [], [] if is_allowed else [get()])


def test_only_over_tls(site):
    site.be(allow(), deny(Condition={"Bool": {"aws:SecureTransport": "false"}}))
    hold(site, [], [get()])
    site.peer = Peer("192.0.2.1", is_secure=True)
    hold(site, [get()], [])


def test_tables_of_the_callers_team(site):
    site.call("TagResource", ResourceArn=TABLE, Tags=[{"Key": "team", "Value": "blue"}])
    same = {"StringEquals": {"aws:ResourceTag/team": "${aws:PrincipalTag/team}"}}
    site.be(allow("dynamodb:*", Condition=same), **{"aws:principaltag/team": "blue"})
    hold(site, [get()], [])
    site.be(allow("dynamodb:*", Condition=same), **{"aws:principaltag/team": "red"})
    hold(site, [], [get()])
    site.be(allow("dynamodb:*", Condition=same))
    hold(site, [], [get()])


def test_new_tables_must_have_a_tag(site):
    tagged = {"StringEquals": {"aws:RequestTag/team": ["blue", "red"]}}
    site.be(allow(["dynamodb:CreateTable", "dynamodb:TagResource"], Condition=tagged))
    table = {
        "TableName": "fresh",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    }
    green = [{"Key": "team", "Value": "green"}]
    blue = [{"Key": "team", "Value": "blue"}]
    hold(
        site,
        [("CreateTable", {**table, "Tags": blue})],
        [("CreateTable", table), ("CreateTable", {**table, "Tags": green})],
    )


def test_one_region_only(site):
    site.be(allow(Condition={"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}))
    hold(site, [], [get()])
    site.be(allow(Condition={"StringEquals": {"aws:RequestedRegion": REGION}}))
    hold(site, [get()], [])


def test_a_role_of_another_account_by_a_resource_policy(site):
    other = "222222222222"
    role = f"arn:aws:iam::{other}:role/Reader"
    granted = {
        "Effect": "Allow",
        "Principal": {"AWS": role},
        "Action": ["dynamodb:GetItem", "dynamodb:Query"],
        "Resource": TABLE,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [granted]})
    site.call("PutResourcePolicy", ResourceArn=TABLE, Policy=policy)
    site.be(allow("dynamodb:*"), arn=role)
    by_arn = ("GetItem", {"TableName": TABLE, "Key": ANN})
    hold(site, [by_arn], [("Scan", {"TableName": TABLE})])
    site.be(allow("dynamodb:*"), arn=f"arn:aws:iam::{other}:role/Writer")
    hold(site, [], [by_arn])
