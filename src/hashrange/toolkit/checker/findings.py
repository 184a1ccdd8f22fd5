"""Rules and findings: what the checker says, independent of how it is printed.

A subject names the part of a design a finding is about, in the form waivers use: `table:Shop`,
`index:Shop.GSI1`, `entity:order`, `attribute:order.total`, `pattern:user_orders`, `code:app.py:12`,
or an empty text for the whole design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, final

from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.expectations import Waiver
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Index, Table

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found: where, and what exactly. `severity` replaces that of the rule."""

    subject: str
    message: str
    severity: Severity | None = None


Problems = Iterator[Problem]
Examine = Callable[[Design], Problems]


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: the standard it enforces, why it matters, how to mend what it finds."""

    id: str
    severity: Severity
    title: str
    standard: str
    why: str
    mend: str
    examine: Examine


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A problem together with its rule; `waiver` is set if the design accepts it."""

    rule: Rule
    severity: Severity
    subject: str
    message: str
    waiver: Waiver | None = None


@final
class Rulebook:
    """Collects the rules of a module; the docstring of a rule's function is its title."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def rule(
        self, rule_id: str, severity: Severity, *, standard: str, why: str, mend: str
    ) -> Callable[[Examine], Examine]:
        """Register a function as a rule."""

        def register(examine: Examine) -> Examine:
            title = (examine.__doc__ or "").strip()
            self.rules.append(Rule(rule_id, severity, title, standard, why, mend, examine))
            return examine

        return register


def of_table(table: Table) -> str:
    return f"table:{table.name}"


def of_index(table: Table, index: Index) -> str:
    return f"index:{table.name}.{index.name}"


def of_entity(entity: Entity[Any]) -> str:
    return f"entity:{entity.name}"


def of_attribute(entity: Entity[Any], attribute: Attribute) -> str:
    return f"attribute:{entity.name}.{attribute.name}"


def of_pattern(pattern: AccessPattern) -> str:
    return f"pattern:{pattern.name}"
