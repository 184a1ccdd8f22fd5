"""Policy documents: what is accepted, and AWS's texts about what is not."""

import json

import pytest

from hashrange.policies.documents import (
    Kind,
    MalformedPolicyError,
    characters_without_space,
    compile_policy,
)

ALLOW = {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}


def document(*statements, version="2012-10-17", **members):
    return json.dumps({"Version": version, "Statement": list(statements), **members})


def refusal(text, kind=Kind.IDENTITY):
    with pytest.raises(MalformedPolicyError) as caught:
        compile_policy(text, kind)
    return str(caught.value)


def test_a_single_statement_needs_no_list():
    text = json.dumps({"Version": "2012-10-17", "Statement": ALLOW})
    assert len(compile_policy(text, Kind.IDENTITY).statements) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        '{"Version": "2012-10-17", "Statement": []}',
        '{"Version": "2012-10-17", "Statement": [1]}',
        '{"Version": "2012-10-17", "Version": "2012-10-17", "Statement": []}',
        document(ALLOW, Extra=1),
        document({**ALLOW, "Colour": "red"}),
        document({**ALLOW, "NotAction": "dynamodb:*"}),
        document({**ALLOW, "NotResource": "*"}),
        document({**ALLOW, "Action": [1]}),
        document({**ALLOW, "Condition": []}),
        document({**ALLOW, "Condition": {"StringEquals": "x"}}),
        document({**ALLOW, "Condition": {"StringEquals": {"aws:username": {}}}}),
    ],
)
def test_what_is_no_policy_has_syntax_errors(text):
    assert refusal(text) == "Syntax errors in policy."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            document(ALLOW, version="2008-10-17"),
            "Policy document must be version 2012-10-17 or greater.",
        ),
        (
            document(ALLOW, version="2020-01-01"),
            "The policy must contain a valid version string",
        ),
        (document({"Effect": "Allow", "Action": "*"}), "Policy statement must contain resources."),
        (document({"Effect": "Allow", "Resource": "*"}), "Policy statement must contain actions."),
        (
            document({**ALLOW, "Action": "GetItem"}),
            "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
        ),
        (
            document({**ALLOW, "Action": "a:b:c"}),
            "Actions/Condition can contain only one colon.",
        ),
        (document({**ALLOW, "Action": "a b:c"}), "Vendor a b is not valid"),
        (
            document({**ALLOW, "Resource": "Music"}),
            'Resource Music must be in ARN format or "*".',
        ),
        (
            document({**ALLOW, "Principal": "*"}),
            "Policy document should not specify a principal.",
        ),
        (
            document({**ALLOW, "Condition": {"StringIsh": {"aws:username": "x"}}}),
            "Invalid Condition type : StringIsh.",
        ),
        (
            document({**ALLOW, "Sid": "one"}, {**ALLOW, "Sid": "one"}),
            "Statement IDs (SID) in a single policy must be unique.",
        ),
        (
            document({**ALLOW, "Sid": "a-b"}),
            "Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the "
            "regular expression [0-9A-Za-z]*",
        ),
    ],
)
def test_a_malformed_policy_is_refused_with_the_text_of_aws(text, message):
    assert refusal(text) == message


def test_a_resource_policy_names_principals():
    assert refusal(document(ALLOW), Kind.RESOURCE) == "Missing required field Principal"
    wrong = document({**ALLOW, "Principal": {"AWS": "ann"}})
    assert refusal(wrong, Kind.RESOURCE) == 'Invalid principal in policy: "AWS":"ann"'
    wrong = document({**ALLOW, "NotPrincipal": {"AWS": "111111111111"}})
    assert refusal(wrong, Kind.RESOURCE) == "Has prohibited field NotPrincipal"


def test_a_trust_policy_names_no_resources():
    text = document({**ALLOW, "Action": "sts:AssumeRole", "Principal": {"AWS": "111111111111"}})
    assert refusal(text, Kind.TRUST) == "Has prohibited field Resource"


def test_white_space_does_not_count():
    assert characters_without_space(' { "a" :\n\t1 } ') == 7
