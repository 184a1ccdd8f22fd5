"""A request with both answers, and the form of the rules that explain how they differ."""

import dataclasses
from collections.abc import Callable
from typing import Any

from tests.differential.comparison import Answer
from tests.harness.endpoint import Reply


@dataclasses.dataclass(frozen=True)
class Case:
    """One request with both answers."""

    operation: str
    body: Any
    local: Answer
    ours: Answer


@dataclasses.dataclass(frozen=True)
class Rule:
    """Why a difference is right."""

    name: str
    reason: str
    evidence: str
    applies: Callable[[Case], bool]


def replies(case: Case) -> tuple[Reply, Reply]:
    """Return the first reply of each."""
    return case.local.reply, case.ours.reply
