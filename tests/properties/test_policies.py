"""The evaluator of policies decides as a slow, plain one does, for random policies and requests.

HASHRANGE_POLICY_REQUESTS sets how many requests are tried, HASHRANGE_SEED which.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

from hashrange.policies.documents import Kind, compile_policy
from hashrange.policies.evaluation import Grants, evaluate
from hashrange.policies.principals import Principal
from tests.harness import slow_policies
from tests.harness.presence import there

_REQUESTS = int(os.environ.get("HASHRANGE_POLICY_REQUESTS", "4000"))
_SEED = int(os.environ.get("HASHRANGE_SEED", "22"))

_ACCOUNTS = ["111111111111", "222222222222"]
_ACTIONS = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "iam:GetUser"]
_ACTION_PATTERNS = [
    *_ACTIONS,
    "*",
    "dynamodb:*",
    "dynamodb:?etItem",
    "DYNAMODB:get*",
    "*:*",
    "dynamodb:*et*tem",
]
_NAMES = ["ann", "bob", "a*", "Music"]
_RESOURCES = [
    "arn:aws:dynamodb:us-east-1:111111111111:table/Music",
    "arn:aws:dynamodb:us-east-1:111111111111:table/ann",
    "arn:aws:dynamodb:eu-west-1:222222222222:table/Music/index/ByYear",
    "arn:aws:dynamodb:us-east-1:111111111111:table/Music/stream/2026-01-01T00:00:00.000",
    "arn:aws:dynamodb:us-east-1:111111111111:table/a*",
    "*",
]
_RESOURCE_PATTERNS = [
    *_RESOURCES,
    "arn:aws:dynamodb:*",
    "arn:aws:dynamodb:*:*:table/*",
    "arn:aws:dynamodb:us-*-1:1*:table/M?sic*",
    "arn:aws:dynamodb:*:table/Music",
    "arn:aws:dynamodb:*:*:table/${aws:username}",
    "arn:aws:dynamodb:*:*:table/${aws:PrincipalTag/team, 'Music'}",
    "arn:aws:dynamodb:*:${aws:PrincipalAccount}:table/*",
    "arn:aws:dynamodb:*:*:table/${dynamodb:Select}*",
    "arn:aws:dynamodb:*:*:table/a${*}",
]
_PRINCIPALS = [
    "arn:aws:iam::111111111111:user/ann",
    "arn:aws:iam::111111111111:role/Reader",
    "arn:aws:sts::111111111111:assumed-role/Reader/s1",
    "arn:aws:iam::111111111111:root",
    "222222222222",
]
_KEYS: dict[str, Any] = {
    "aws:username": ["ann", "bob", "a*"],
    "aws:PrincipalTag/team": ["Music", "ann"],
    "aws:SourceIp": ["10.0.0.7", "192.0.2.1", "2001:db8::1"],
    "aws:CurrentTime": ["2026-11-18T01:00:00Z", "2025-01-01T00:00:00Z"],
    "aws:EpochTime": ["1700000000", "1800000000"],
    "aws:SecureTransport": ["true", "false"],
    "aws:PrincipalArn": [_PRINCIPALS[0], _PRINCIPALS[1]],
    "dynamodb:Select": ["COUNT", "ALL_ATTRIBUTES", "Music"],
    "dynamodb:LeadingKeys": [[], ["ann"], ["ann", "bob"], ["bob"], ["a*"]],
    "dynamodb:Attributes": [["id"], ["id", "secret"], []],
    "aws:PrincipalAccount": _ACCOUNTS,
}
_VALUES = [
    *["ann", "ANN", "bob", "a*", "?nn", "id", "secret", "COUNT", "${aws:username}", "${nothing:x}"],
    *["${nothing:x, 'ann'}", "10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "true", "false"],
    *["2026-01-01T00:00:00Z", "1750000000", "1.75e9", "arn:aws:iam::111111111111:*"],
    *["arn:aws:iam::*:user/${aws:username}", "YW5u", "not a value"],
]
_OPERATORS = [
    *["StringEquals", "StringNotEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase"],
    *["StringLike", "StringNotLike", "NumericEquals", "NumericNotEquals", "NumericLessThan"],
    *["NumericLessThanEquals", "NumericGreaterThan", "NumericGreaterThanEquals", "DateEquals"],
    *["DateNotEquals", "DateLessThan", "DateLessThanEquals", "DateGreaterThan"],
    *["DateGreaterThanEquals", "Bool", "BinaryEquals", "IpAddress", "NotIpAddress", "ArnEquals"],
    *["ArnNotEquals", "ArnLike", "ArnNotLike"],
]


def _some(source: random.Random, choices: list) -> list | str:
    chosen = source.sample(choices, source.randint(1, 3))
    return chosen[0] if len(chosen) == 1 and source.random() < 0.5 else chosen


def _condition(source: random.Random) -> dict:
    block: dict = {}
    for _ in range(source.choice((0, 0, 1, 1, 2))):
        name = source.choice(_OPERATORS)
        if source.random() < 0.25:
            name += "IfExists"
        elif source.random() < 0.15:
            name = "Null"
        if source.random() < 0.4:
            name = source.choice(("ForAllValues:", "ForAnyValue:")) + name
        values = source.choice(("true", "false")) if name == "Null" else _some(source, _VALUES)
        block.setdefault(name, {})[source.choice(list(_KEYS))] = values
    return block


def _document(source: random.Random, *, names_principals: bool = False, is_old: bool = False):
    statements = []
    for _ in range(source.randint(1, 3)):
        is_deny = source.random() < 0.3
        action = "NotAction" if source.random() < 0.15 else "Action"
        resource = "NotResource" if source.random() < 0.2 else "Resource"
        statement: dict[str, Any] = {
            "Effect": "Deny" if is_deny else "Allow",
            action: _some(source, _ACTION_PATTERNS),
            resource: _some(source, _RESOURCE_PATTERNS),
        }
        if block := _condition(source):
            statement["Condition"] = block
        if names_principals:
            member = "NotPrincipal" if is_deny and source.random() < 0.3 else "Principal"
            everybody = source.random() < 0.3
            statement[member] = "*" if everybody else {"AWS": _some(source, _PRINCIPALS)}
        statements.append(statement)
    return {"Version": "2008-10-17" if is_old else "2012-10-17", "Statement": statements}


def _policies(source: random.Random) -> dict:
    def maybe(chance: float, **options: bool) -> list | None:
        return [_document(source, **options)] if source.random() < chance else None

    return {
        "identity": [_document(source) for _ in range(source.randint(0, 2))],
        "boundary": maybe(0.3),
        "session": maybe(0.3),
        "resource": maybe(0.5, names_principals=True, is_old=source.random() < 0.3),
    }


def _caller(source: random.Random) -> dict:
    arn = source.choice(_PRINCIPALS[:4])
    issuer = _PRINCIPALS[1] if "assumed-role" in arn else ""
    keys = {"aws:principalaccount": "111111111111"}
    for key in ("aws:username", "aws:PrincipalTag/team"):
        if source.random() < 0.7:
            keys[key.lower()] = source.choice(_KEYS[key])
    return {"arn": arn, "account": "111111111111", "issuer": issuer, "keys": keys}


class _Context:
    def __init__(self, values: dict) -> None:
        self._values = values

    def find(self, key: str) -> str | list[str] | None:
        return self._values.get(key)


def _compiled(documents: list | None, kind: Kind) -> list | None:
    if documents is None:
        return None
    return [compile_policy(json.dumps(document), kind) for document in documents]


def _shown(decision) -> object:
    kinds = {
        Kind.IDENTITY: "identity",
        Kind.BOUNDARY: "boundary",
        Kind.SESSION: "session",
        Kind.RESOURCE: "resource",
    }
    if decision.is_allowed:
        return "allow"
    return ("explicit" if decision.is_explicit else "implicit", kinds[decision.kind])


def test_every_decision_is_that_of_the_slow_evaluator():
    source = random.Random(_SEED)
    outcomes: dict = {}
    for _ in range(_REQUESTS // 12):
        policies, who = _policies(source), _caller(source)
        caller = Principal(who["arn"], who["account"], who["issuer"], who["keys"])
        grants = Grants(
            caller,
            there(_compiled(policies["identity"], Kind.IDENTITY)),
            _compiled(policies["boundary"], Kind.BOUNDARY),
            _compiled(policies["session"], Kind.SESSION),
        )
        resource_policy = (_compiled(policies["resource"], Kind.RESOURCE) or [None])[0]
        for _ in range(12):
            action, resource = source.choice(_ACTIONS), source.choice(_RESOURCES)
            context = {
                key.lower(): source.choice(values)
                for key, values in _KEYS.items()
                if key not in ("aws:username", "aws:PrincipalTag/team", "aws:PrincipalAccount")
                and source.random() < 0.6
            } | who["keys"]
            account = source.choice((*_ACCOUNTS, _ACCOUNTS[0]))
            expected = slow_policies.decide(who, policies, action, resource, context, account)
            decision = evaluate(
                grants, action, resource, _Context(context), resource_policy, account
            )
            assert _shown(decision) == expected, (policies, who, action, resource, context)
            outcomes[expected] = outcomes.get(expected, 0) + 1
    # Every way a request can end was tried.
    assert len(outcomes) == 9
