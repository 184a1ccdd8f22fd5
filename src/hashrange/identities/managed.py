"""The policies that AWS manages and people attach to identities of DynamoDB."""

from __future__ import annotations

import json
from typing import Any, Final

from hashrange.identities.records import AWS_ACCOUNT, ManagedPolicy, PolicyVersion

_MADE_AT: Final = 1_423_000_000.0

_READ_ACTIONS: Final = [
    "dynamodb:BatchGetItem",
    "dynamodb:Describe*",
    "dynamodb:List*",
    "dynamodb:GetAbacStatus",
    "dynamodb:GetItem",
    "dynamodb:GetResourcePolicy",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:PartiQLSelect",
]
_STREAM_ACTIONS: Final = [
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
]


def _policy(name: str, number: int, actions: Any, description: str) -> ManagedPolicy:
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    return ManagedPolicy(
        account=AWS_ACCOUNT,
        name=name,
        path="/",
        id=f"ANPAHASHRANGE{number:08d}",
        created_at=_MADE_AT,
        updated_at=_MADE_AT,
        versions={"v1": PolicyVersion(document, _MADE_AT)},
        default="v1",
        description=description,
    )


_POLICIES: Final = (
    _policy("AdministratorAccess", 1, "*", "Allows everything."),
    _policy(
        "AmazonDynamoDBFullAccess",
        2,
        ["dynamodb:*", "cloudwatch:*", "application-autoscaling:*", "iam:GetRole", "iam:ListRoles"],
        "Allows everything in DynamoDB.",
    ),
    _policy("AmazonDynamoDBFullAccess_v2", 3, ["dynamodb:*"], "Allows everything in DynamoDB."),
    _policy(
        "AmazonDynamoDBReadOnlyAccess",
        4,
        [*_READ_ACTIONS, *_STREAM_ACTIONS, "cloudwatch:Get*", "cloudwatch:List*"],
        "Allows reading in DynamoDB.",
    ),
    _policy("IAMFullAccess", 5, ["iam:*"], "Allows everything in IAM."),
    _policy("IAMReadOnlyAccess", 6, ["iam:Get*", "iam:List*"], "Allows reading in IAM."),
)

AWS_MANAGED: Final = {policy.arn: policy for policy in _POLICIES}
"""The policies by ARN."""
