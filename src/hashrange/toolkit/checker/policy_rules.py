"""Compares an IAM policy with what the patterns of a design need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from hashrange.toolkit.checker.check import findings_of
from hashrange.toolkit.checker.findings import Finding, Problem, Problems, Rulebook
from hashrange.toolkit.checker.policy import needed_grants
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError

ACTIONS: Final = (
    "BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "CreateBackup", "CreateGlobalTable",
    "CreateTable", "CreateTableReplica", "DeleteBackup", "DeleteItem", "DeleteResourcePolicy",
    "DeleteTable", "DeleteTableReplica", "DescribeBackup", "DescribeContinuousBackups",
    "DescribeContributorInsights", "DescribeEndpoints", "DescribeExport", "DescribeGlobalTable",
    "DescribeImport", "DescribeLimits", "DescribeStream", "DescribeTable", "DescribeTimeToLive",
    "ExportTableToPointInTime", "GetItem", "GetRecords", "GetResourcePolicy", "GetShardIterator",
    "ImportTable", "ListBackups", "ListStreams", "ListTables", "ListTagsOfResource",
    "PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate", "PutItem",
    "PutResourcePolicy", "Query", "RestoreTableFromBackup", "RestoreTableToPointInTime", "Scan",
    "TagResource", "UntagResource", "UpdateContinuousBackups", "UpdateContributorInsights",
    "UpdateGlobalTable", "UpdateItem", "UpdateTable", "UpdateTimeToLive",
)  # fmt: skip
_RESOURCE: Final = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:(.*)", re.DOTALL)

book = Rulebook()


@book.rule(
    "policy-too-wide",
    "error",
    standard="Data access MUST follow least privilege.",
    why="Whatever the service may do beyond its patterns, a mistake or an intruder may do too.",
    mend="Use the policy that hashrange design policy writes.",
)
def _too_wide(_: Design) -> Problems:
    """A policy allows more than the patterns need."""
    yield from ()


@book.rule(
    "policy-too-narrow",
    "warning",
    standard="Use least-privilege IAM policies.",
    why="The pattern will be refused with AccessDeniedException.",
    mend="Use the policy that hashrange design policy writes.",
)
def _too_narrow(_: Design) -> Problems:
    """A policy lacks what a pattern needs."""
    yield from ()


def check_policy(
    design: Design, policy: Mapping[str, Any], patterns: Sequence[str] = ()
) -> list[Finding]:
    """Return what a policy allows beyond the patterns, and what it lacks."""
    too_wide, too_narrow = book.rules
    needed = needed_grants(design, patterns)
    statements = _listed(policy.get("Statement"))
    if not all(isinstance(each, Mapping) for each in statements):
        raise DesignError("the policy has no statements")
    allowing = [each for each in statements if each.get("Effect") == "Allow"]
    wide = [problem for each in allowing for problem in _excess(each, needed)]
    narrow = [
        Problem("", f"nothing allows {action} on {resource}")
        for action, resource in sorted(needed)
        if not any(_allows(each, action, resource) for each in allowing)
    ]
    return findings_of(too_wide, wide) + findings_of(too_narrow, narrow)


def _excess(statement: Mapping[str, Any], needed: set[tuple[str, str]]) -> Iterator[Problem]:
    name = f"statement {statement.get('Sid', '')}".strip()
    if "NotAction" in statement or "NotResource" in statement:
        yield Problem("", f"{name} allows everything but a list (NotAction or NotResource)")
        return
    for action in _listed(statement.get("Action")):
        service, _, pattern = str(action).partition(":")
        if service not in ("*", "dynamodb"):
            continue
        granted = [each for each in ACTIONS if _matches(each, pattern or "*")]
        for resource in _listed(statement.get("Resource")):
            yield from _excess_of_grant(name, str(action), granted, (str(resource), needed))


def _excess_of_grant(
    name: str, action: str, granted: list[str], where: tuple[str, set[tuple[str, str]]]
) -> Iterator[Problem]:
    resource, needed = where
    covered = {need for need in needed if need[0] in granted and _covers(resource, need[1])}
    unneeded = sorted(set(granted) - {need[0] for need in covered})
    if unneeded:
        some = ", ".join(unneeded[:3]) + (", …" if len(unneeded) > 3 else "")
        yield Problem(
            "", f"{name}: {action} on {_short(resource)} allows {some}, never needed there"
        )
    if covered and ("*" in _short(resource) or "?" in _short(resource)):
        tables = ", ".join(sorted({need[1] for need in covered}))
        yield Problem("", f"{name}: {_short(resource)} is wider than {tables}")


def _allows(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    if "NotAction" in statement or "NotResource" in statement:
        return True
    actions = (str(each).partition(":") for each in _listed(statement.get("Action")))
    return any(
        service in ("*", "dynamodb") and _matches(action, pattern or "*")
        for service, _, pattern in actions
    ) and any(_covers(str(each), resource) for each in _listed(statement.get("Resource")))


def _covers(arn: str, resource: str) -> bool:
    return fnmatchcase(resource, _short(arn))


def _short(arn: str) -> str:
    found = _RESOURCE.fullmatch(arn)
    return found.group(1) if found else arn


def _matches(action: str, pattern: str) -> bool:
    return fnmatchcase(action.lower(), pattern.lower())


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
