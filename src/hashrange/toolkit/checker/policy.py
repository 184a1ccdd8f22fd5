"""Least-privilege IAM policies: exactly the actions and resources that the patterns need.

Transactions and unique attributes are resolved to the actions behind them: IAM knows PutItem,
UpdateItem, DeleteItem, GetItem and ConditionCheckItem, not the transaction itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.updates import assignments_of, removed_by

Grant = tuple[str, str]
"""An action (`GetItem`) and a resource below the account (`table/Shop/index/GSI1`)."""

_ACTIONS: Final = {
    "get": "GetItem",
    "query": "Query",
    "scan": "Scan",
    "create": "PutItem",
    "put": "PutItem",
    "update": "UpdateItem",
    "delete": "DeleteItem",
    "check": "ConditionCheckItem",
    "batch_get": "BatchGetItem",
    "batch_write": "BatchWriteItem",
    "transact_get": "GetItem",
}


@final
@dataclass(frozen=True, slots=True)
class Account:
    """Where the tables live, for resource names."""

    account_id: str = "${AWS::AccountId}"
    region: str = "${AWS::Region}"
    partition: str = "aws"

    def arn(self, resource: str) -> str:
        """Return the ARN of a DynamoDB resource."""
        return f"arn:{self.partition}:dynamodb:{self.region}:{self.account_id}:{resource}"


def policy_document(
    design: Design, account: Account, patterns: Collection[str] = ()
) -> dict[str, Any]:
    """Return the policy that allows the patterns of a design, or only some of them by name."""
    actions: dict[str, set[str]] = {}
    for action, resource in needed_grants(design, patterns):
        actions.setdefault(resource, set()).add(action)
    resources: dict[tuple[str, ...], list[str]] = {}
    for resource, names in actions.items():
        resources.setdefault(tuple(sorted(names)), []).append(resource)
    statements = [
        {
            "Sid": f"Allow{number}",
            "Effect": "Allow",
            "Action": [f"dynamodb:{name}" for name in names],
            "Resource": [account.arn(resource) for resource in sorted(found)],
        }
        for number, (names, found) in enumerate(sorted(resources.items()), 1)
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def needed_grants(design: Design, patterns: Collection[str] = ()) -> set[Grant]:
    """Return the actions and resources that the patterns of a design need."""
    chosen = [design.pattern(name) for name in patterns] or design.patterns
    return {grant for pattern in chosen for grant in _grants(design, pattern)}


def _grants(design: Design, pattern: AccessPattern) -> Iterator[Grant]:
    for step in pattern.steps:
        action = _ACTIONS[step.action if pattern.operation == "transact_write" else "get"]
        yield action, f"table/{design.entity(step.entity).table}"
    if pattern.steps:
        return
    resource = f"table/{pattern.table}"
    if pattern.index:
        resource += f"/index/{pattern.index}"
    yield _ACTIONS[pattern.operation], resource
    if not pattern.is_read:
        for action in _guard_actions(design.entity(pattern.entities[0]), pattern):
            yield action, resource


def _guard_actions(entity: Entity[Any], pattern: AccessPattern) -> Iterator[str]:
    """Yield what guard items of unique attributes need besides the write itself."""
    if not entity.unique:
        return
    changed = {*assignments_of(pattern.update), *removed_by(pattern.update)}
    if pattern.operation == "create":
        yield "PutItem"
    elif pattern.operation != "update" or changed & set(entity.unique):
        yield from ("GetItem", "PutItem", "DeleteItem")
