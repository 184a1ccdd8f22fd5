"""The faults that a test has requests meet; see `hashrange.injection`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from hashrange.api.faults.operations import make_rule
from hashrange.injection.rules import FaultRule, Kind

Replace = Callable[[Sequence[FaultRule], int], None]


@final
class Faults:
    """The rules in force, changed by the test; none at first."""

    def __init__(self, replace: Replace) -> None:
        self._replace = replace
        self._rules: list[FaultRule] = []
        self._seed = 0

    def add(
        self,
        kind: Kind,
        *,
        operation: str | None = None,
        table: str | None = None,
        rate: float = 1.0,
        seconds: float = 1.0,
        times: int | None = None,
    ) -> None:
        """Have requests of an operation and a table, or all, meet a fault from now on.

        `kind` is throttle, delay, fail, conflict or stale; `rate` is the share of requests, `times`
        how many at most, `seconds` the length of a delay or how far behind a stale read may be.
        """
        members = {
            "Kind": kind,
            "Operation": operation,
            "Table": table,
            "Rate": rate,
            "Seconds": seconds,
            "Times": times,
        }
        self._rules.append(make_rule(members))
        self._replace(self._rules, self._seed)

    def seed(self, seed: int) -> None:
        """Begin the random choice anew with a seed."""
        self._seed = seed
        self._replace(self._rules, seed)

    def clear(self) -> None:
        """Let no request meet a fault any more."""
        self._rules.clear()
        self._replace((), self._seed)
