"""Decisions and the reasons given for refusals."""

import json
import time

import pytest

from hashrange.policies.documents import Kind, compile_policy
from hashrange.policies.evaluation import Grants, evaluate
from hashrange.policies.principals import Principal
from hashrange.policies.statements import NO_CONTEXT

ACCOUNT = "111111111111"
OTHER = "222222222222"
USER = f"arn:aws:iam::{ACCOUNT}:user/ann"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/Reader"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/Reader/s1"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Music"
ACTION = "dynamodb:GetItem"

ann = Principal(USER, ACCOUNT)
session = Principal(SESSION, ACCOUNT, ROLE)


class Context:
    def __init__(self, **values):
        self.values = values
        self.asked = []

    def find(self, key):
        self.asked.append(key)
        return self.values.get(key)


def policy(effect="Allow", kind=Kind.IDENTITY, **members):
    statement = {"Effect": effect, "Action": "dynamodb:*", "Resource": "*", **members}
    text = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    return compile_policy(text, kind)


def resource_policy(effect="Allow", principal=USER, **members):
    named = principal if principal == "*" else {"AWS": principal}
    return policy(effect, Kind.RESOURCE, Principal=named, **members)


def decide(grants, on=None, account=ACCOUNT, context=NO_CONTEXT):
    return evaluate(grants, ACTION, TABLE, context, on, account)


@pytest.mark.parametrize(
    ("grants", "on", "reason"),
    [
        (
            Grants(ann, []),
            None,
            "because no identity-based policy allows the dynamodb:GetItem action",
        ),
        (
            Grants(ann, [policy(), policy("Deny")]),
            None,
            "with an explicit deny in an identity-based policy",
        ),
        (
            Grants(ann, [policy()]),
            resource_policy("Deny"),
            "with an explicit deny in a resource-based policy",
        ),
        (
            Grants(ann, [policy()], [policy(Action="s3:*")]),
            None,
            "because no permissions boundary allows the dynamodb:GetItem action",
        ),
        (
            Grants(ann, [policy()], [policy("Deny")]),
            None,
            "with an explicit deny in a permissions boundary",
        ),
        (
            Grants(session, [policy()], None, [policy(Action="s3:*")]),
            None,
            "because no session policy allows the dynamodb:GetItem action",
        ),
        (
            Grants(session, [policy()], None, [policy("Deny")]),
            None,
            "with an explicit deny in a session policy",
        ),
    ],
)
def test_a_refusal_names_the_kind_of_policy(grants, on, reason):
    decision = decide(grants, on)
    assert not decision.is_allowed
    assert decision.explain(ACTION) == reason


def test_across_accounts_both_sides_must_allow():
    assert not decide(Grants(ann, [policy()]), None, OTHER).is_allowed
    refused = decide(Grants(ann, [policy()]), resource_policy(principal=OTHER), OTHER)
    assert refused.explain(ACTION) == (
        "because no resource-based policy allows the dynamodb:GetItem action"
    )
    assert not decide(Grants(ann, []), resource_policy(), OTHER).is_allowed
    assert decide(Grants(ann, [policy()]), resource_policy(), OTHER).is_allowed
    assert decide(Grants(ann, [policy()]), resource_policy(principal=ACCOUNT), OTHER).is_allowed


def test_a_resource_policy_that_names_the_user_is_enough_in_its_account():
    narrow = [policy(Action="s3:*")]
    assert decide(Grants(ann, [], narrow), resource_policy()).is_allowed
    assert decide(Grants(ann, [], narrow), resource_policy(principal="*")).is_allowed


def test_a_resource_policy_that_names_the_account_leaves_it_to_the_account():
    assert not decide(Grants(ann, []), resource_policy(principal=ACCOUNT)).is_allowed


def test_what_a_role_is_granted_is_cut_by_its_boundary_and_session_policy():
    on = resource_policy(principal=ROLE)
    narrow = [policy(Action="s3:*")]
    assert decide(Grants(session, []), on).is_allowed
    assert not decide(Grants(session, [], narrow), on).is_allowed
    assert not decide(Grants(session, [], None, narrow), on).is_allowed
    assert decide(
        Grants(session, [], narrow, narrow), resource_policy(principal=SESSION)
    ).is_allowed


def test_a_decision_without_conditions_is_kept():
    grants = Grants(ann, [policy(Action=f"dynamodb:{name}*") for name in ("Put", "Get", "Query")])
    assert decide(grants) is decide(grants)


def test_conditions_are_looked_at_in_each_request():
    grants = Grants(ann, [policy(Condition={"StringEquals": {"dynamodb:Select": "COUNT"}})])
    assert decide(grants, context=Context(**{"dynamodb:select": "COUNT"})).is_allowed
    assert not decide(grants, context=Context(**{"dynamodb:select": "ALL"})).is_allowed


def test_only_keys_that_a_covering_statement_names_are_asked_for():
    grants = Grants(
        ann,
        [
            policy(),
            policy("Deny", Action="dynamodb:Scan", Condition={"Null": {"dynamodb:Select": "true"}}),
        ],
    )
    context = Context()
    assert decide(grants, context=context).is_allowed
    assert context.asked == []


def test_many_wildcards_take_little_time():
    pattern = "arn:aws:dynamodb:*:*:table/" + "*a" * 1000 + "b"
    grants = Grants(ann, [policy(Resource=pattern)])
    resource = "arn:aws:dynamodb:us-east-1:111111111111:table/" + "a" * 2000
    started = time.perf_counter()
    assert not evaluate(grants, ACTION, resource, NO_CONTEXT).is_allowed
    assert time.perf_counter() - started < 2
