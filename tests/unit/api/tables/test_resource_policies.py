"""Resource policies: how they are set, shown and removed, and what they allow."""

import json

import pytest

from tests.harness.guarded import ACCOUNT, KEY, TABLE, USER, GuardedSite, allow, games

OTHER = "222222222222"
STRANGER = f"arn:aws:iam::{OTHER}:user/eve"
GET = {"TableName": TABLE, "Key": KEY}


@pytest.fixture
def site():
    made = GuardedSite()
    made.create()
    return made


def statement(principal=STRANGER, action="dynamodb:GetItem", **members):
    named = principal if principal == "*" else {"AWS": principal}
    return {"Effect": "Allow", "Principal": named, "Action": action, "Resource": TABLE, **members}


def document(*statements, **members):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements), **members})


def put(site, *statements, arn=TABLE, **members):
    return site.call("PutResourcePolicy", ResourceArn=arn, Policy=document(*statements), **members)


def code(answer):
    return answer.get("__type", "").rpartition("#")[2]


def test_a_policy_is_kept_in_one_form_and_its_revision_with_it(site):
    first = put(site, statement([OTHER], ["dynamodb:GetItem"], Sid="a"))["RevisionId"]
    shown = site.call("GetResourcePolicy", ResourceArn=TABLE)
    assert shown["RevisionId"] == first
    assert shown["Policy"] == (
        '{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":'
        f'"arn:aws:iam::{OTHER}:root"}},"Action":"dynamodb:GetItem","Resource":"{TABLE}"}}]}}'
    )
    assert put(site, statement(OTHER, Sid="a"))["RevisionId"] == first
    assert put(site, statement(OTHER, Sid="b"))["RevisionId"] != first


def test_revisions_guard_changes(site):
    assert code(put(site, statement(), ExpectedRevisionId="1")) == "PolicyNotFoundException"
    revision = put(site, statement(), ExpectedRevisionId="NO_POLICY")["RevisionId"]
    again = put(site, statement(Sid="x"), ExpectedRevisionId="NO_POLICY")
    assert code(again) == "PolicyNotFoundException"
    wrong = site.call("DeleteResourcePolicy", ResourceArn=TABLE, ExpectedRevisionId="1")
    assert code(wrong) == "PolicyNotFoundException"
    deleted = site.call("DeleteResourcePolicy", ResourceArn=TABLE, ExpectedRevisionId=revision)
    assert deleted == {"RevisionId": revision}
    assert site.call("DeleteResourcePolicy", ResourceArn=TABLE) == {}
    assert code(site.call("GetResourcePolicy", ResourceArn=TABLE)) == "PolicyNotFoundException"


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ([statement("*")], "unbounded access"),
        (
            [statement("*", Condition={"StringNotEquals": {"aws:username": "eve"}})],
            "unbounded access",
        ),
        ([statement(Resource=TABLE.replace("games", "other"))], "is not"),
        ([statement(Sid="a"), statement(Sid="a")], "must be unique"),
        ([statement("eve")], "Invalid principal"),
        ([{"Effect": "Allow", "Action": "*", "Resource": "*"}], "Missing required field Principal"),
        ([statement(Condition={"StringEquals": {"aws:username": "x" * 21_000}})], "20480 bytes"),
    ],
)
def test_what_is_no_policy_for_a_table_is_refused(site, statements, words):
    answer = put(site, *statements)
    assert code(answer) == "ValidationException"
    assert words in answer["message"]


def test_a_policy_for_everybody_may_be_restricted_by_a_condition(site):
    condition = {"StringEquals": {"aws:PrincipalAccount": OTHER}}
    assert "RevisionId" in put(site, statement("*", Condition=condition))


def test_another_account_needs_both_policies(site):
    site.be(allow("dynamodb:*"), arn=STRANGER)
    assert "because no resource-based policy allows" in site.refusal("GetItem", **GET)
    site.be_root()
    put(site, statement())
    site.be(allow("dynamodb:*"), arn=STRANGER)
    assert site.call("GetItem", **GET)["Item"]["p"] == {"S": "a"}
    assert site.refusal("DeleteItem", **GET)
    assert site.refusal("GetItem", TableName=f"{TABLE}x", Key=KEY)
    # A name alone means the caller's own account.
    assert code(site.call("GetItem", TableName="games", Key=KEY)) == "ResourceNotFoundException"
    site.be(arn=STRANGER)
    assert "because no identity-based policy allows" in site.refusal("GetItem", **GET)


@pytest.mark.parametrize("partition", ["aws", "aws-cn"])
def test_every_way_to_name_a_table_is_judged_alike(site, partition):
    site.be(allow("dynamodb:*"), arn=STRANGER)
    arn = TABLE.replace("arn:aws:", f"arn:{partition}:")
    assert site.refusal("GetItem", TableName=arn, Key=KEY)
    assert site.refusal("ExecuteStatement", Statement=f"SELECT * FROM \"{arn}\" WHERE p='a'")
    assert site.refusal("ListTagsOfResource", ResourceArn=arn)
    assert site.refusal("GetResourcePolicy", ResourceArn=arn)
    for odd in (f"x:y:z:us-east-1:{ACCOUNT}:table/games", f"{arn}/index/x", f":{arn}"):
        answer = site.call("ExecuteStatement", Statement=f"SELECT * FROM \"{odd}\" WHERE p='a'")
        assert "Items" not in answer


def test_a_user_named_by_the_policy_needs_no_other_in_its_account(site):
    put(site, statement(USER))
    site.be()
    assert site.call("GetItem", TableName="games", Key=KEY)["Item"]
    assert site.refusal("Scan", TableName="games")


def test_a_deny_is_stronger_than_any_allow(site):
    put(site, statement(USER, Effect="Deny"), ConfirmRemoveSelfResourceAccess=True)
    site.be(allow())
    assert site.refusal("GetItem", TableName="games", Key=KEY).endswith(
        "with an explicit deny in a resource-based policy"
    )


def test_nobody_locks_itself_out_by_mistake(site):
    site.be(allow())
    deny = statement(USER, "dynamodb:*", Effect="Deny")
    answer = put(site, deny)
    assert code(answer) == "ValidationException"
    assert "ConfirmRemoveSelfResourceAccess" in answer["message"]
    assert "RevisionId" in put(site, deny, ConfirmRemoveSelfResourceAccess=True)
    assert site.refusal("DeleteResourcePolicy", ResourceArn=TABLE)


def test_an_index_is_covered_through_its_table(site):
    query = {
        "TableName": TABLE,
        "IndexName": "by-score",
        "KeyConditionExpression": "score = :s",
        "ExpressionAttributeValues": {":s": {"N": "7"}},
    }
    put(site, statement(action="dynamodb:Query", Resource=f"{TABLE}/index/*"))
    site.be(allow(), arn=STRANGER)
    assert site.call("Query", **query)["Count"] == 1
    assert site.refusal("Query", **(query | {"IndexName": None}))


def test_a_stream_has_a_policy_of_its_own(site):
    stream, iterator = site.stream, site.iterator()
    site.be(allow(), arn=STRANGER)
    assert site.refusal("DescribeStream", StreamArn=stream)
    assert site.refusal("GetRecords", ShardIterator=iterator)
    site.be_root()
    on_stream = statement(
        action=["dynamodb:DescribeStream", "dynamodb:GetRecords"], Resource=stream
    )
    assert "RevisionId" in put(site, on_stream, arn=stream)
    site.be(allow(), arn=STRANGER)
    assert "StreamDescription" in site.call("DescribeStream", StreamArn=stream)
    assert site.call("GetRecords", ShardIterator=iterator)["Records"]
    assert site.refusal("GetItem", **GET)


def test_a_table_is_created_with_its_policy(site):
    arn = TABLE.replace("games", "shared")
    policy = document(statement(Resource=arn))
    site.call("CreateTable", **{**games(), "TableName": "shared", "ResourcePolicy": policy})
    site.be(allow(), arn=STRANGER)
    assert site.call("GetItem", TableName=arn, Key=KEY) == {}
    site.be(allow("dynamodb:CreateTable"))
    other = {**games(), "TableName": "another", "ResourcePolicy": policy}
    assert "dynamodb:PutResourcePolicy" in site.refusal("CreateTable", **other)
