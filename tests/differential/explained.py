"""Differences from DynamoDB Local that are right, because AWS answers otherwise.

Each rule says when it applies, why, and what proves it. docs/compatibility.md has the same list.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from tests.differential.comparison import Answer


@dataclasses.dataclass(frozen=True)
class Case:
    """One request that was answered differently."""

    operation: str
    body: Any
    local: Answer
    ours: Answer


@dataclasses.dataclass(frozen=True)
class Rule:
    name: str
    reason: str
    evidence: str
    applies: Callable[[Case], bool]


RULES: tuple[Rule, ...] = ()


def explain(case: Case) -> Rule | None:
    """Return the first rule that covers a case."""
    return next((rule for rule in RULES if rule.applies(case)), None)
