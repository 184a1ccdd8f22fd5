"""Differences from DynamoDB Local that are right, because AWS answers otherwise.

Two kinds of rules: an adjustment makes the bodies of two successful (or alike failed) answers
comparable by taking out what differs rightly; an excuse accepts a pair of answers one of which is
an error. Each says why and what proves it. docs/compatibility.md has the same list.
"""

import copy

from tests.differential.adjustments import ADJUSTMENTS
from tests.differential.cases import Case, Rule
from tests.differential.excuses import RULES

__all__ = ["ADJUSTMENTS", "RULES", "Case", "Rule", "adjusted", "explain"]


def adjusted(case: Case) -> tuple[Case, list[str]]:
    """Return the case with rightful differences of bodies taken out, and the rules used."""
    found = Case(case.operation, case.body, copy.deepcopy(case.local), copy.deepcopy(case.ours))
    if not isinstance(found.body, dict):
        return found, []
    return found, [rule.name for rule in ADJUSTMENTS if rule.applies(found)]


def explain(case: Case) -> Rule | None:
    """Return the first rule that excuses a case."""
    return next((rule for rule in RULES if rule.applies(case)), None)
