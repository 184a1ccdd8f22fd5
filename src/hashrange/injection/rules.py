"""Fault rules: which requests meet which fault, and how often, by a seed.

A rule concerns the requests of an operation and of a table, or of all where it names none. It meets
a share of them, chosen by a random sequence that begins with the seed, until it has met `times`.
Rules are asked in order. Delays and stale reads let the next rules have their turn; the others end
the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, final

Kind = Literal["throttle", "delay", "fail", "conflict", "stale"]
KINDS: Final = ("throttle", "delay", "fail", "conflict", "stale")
RULES_MAX: Final = 100
SECONDS_MAX: Final = 60.0


@final
@dataclass(frozen=True, slots=True)
class FaultRule:
    """One rule; `seconds` is the length of a delay, or how far behind a stale read is at most."""

    kind: Kind
    operation: str | None = None
    table: str | None = None
    rate: float = 1.0
    seconds: float = 1.0
    times: int | None = None


@final
class FaultPlan:
    """The rules in force, with the state of their random sequence."""

    def __init__(self, rules: Sequence[FaultRule] = (), seed: int = 0) -> None:
        self.rules = tuple(rules)
        self.seed = seed
        self._random = Random(seed)
        self._met = [0] * len(self.rules)

    def draw(self, operation: str, tables: Sequence[str]) -> Iterator[FaultRule]:
        """Yield the rules that a request meets, in order."""
        for number, rule in enumerate(self.rules):
            if rule.operation not in (None, operation):
                continue
            if rule.table is not None and rule.table not in tables:
                continue
            if rule.times is not None and self._met[number] >= rule.times:
                continue
            if self._random.random() < rule.rate:
                self._met[number] += 1
                yield rule


def tables_of(request: dict[str, Any]) -> list[str]:
    """Return the names of the tables that a request names, also those in ARNs."""
    names: list[Any] = [request.get("TableName")]
    batch = request.get("RequestItems")
    if isinstance(batch, dict):
        names += batch
    for member in request.get("TransactItems") or ():
        names += [part.get("TableName") for part in member.values() if isinstance(part, dict)]
    return [name.rpartition("/")[2] for name in names if isinstance(name, str)]
