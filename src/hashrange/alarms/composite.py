"""Rules of composite alarms, such as `ALARM("a") AND NOT (OK(b) OR INSUFFICIENT_DATA("c"))`.

or    := and ("OR" and)*
and   := not ("AND" not)*
not   := "NOT" not | atom
atom  := "TRUE" | "FALSE" | state "(" name or ARN ")" | "(" or ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from hashrange.alarms.rules import ALARM, INSUFFICIENT, OK
from hashrange.limits import ALARM_RULE_CHILDREN_MAX, ALARM_RULE_DEPTH_MAX

_TOKEN: Final = re.compile(r"\s*([()]|\"(?:[^\"\\]|\\.)*\"|[^\s()\"]+)")
_STATES: Final = (ALARM, OK, INSUFFICIENT)

Rule = Callable[[Callable[[str], str]], bool]
"""Tells whether a rule holds, given a function from alarm names to states."""


class RuleError(Exception):
    """A rule cannot be read; the message says why."""


class CompositeRule:
    """A rule and the alarms it names."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0
        self.children: list[str] = []
        self._rule = self._or(0)
        if self._position < len(self._tokens):
            raise RuleError(f"AlarmRule has an unexpected '{self._tokens[self._position]}'")
        if len(self.children) > ALARM_RULE_CHILDREN_MAX:
            raise RuleError(f"AlarmRule names more than {ALARM_RULE_CHILDREN_MAX} alarms")

    def holds(self, state_of: Callable[[str], str]) -> bool:
        """Tell whether the rule holds for alarms in these states."""
        return self._rule(state_of)

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise RuleError("AlarmRule ends too early")
        self._position += 1
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            raise RuleError(f"AlarmRule has '{token}' where '{wanted}' is expected")

    def _or(self, depth: int) -> Rule:
        if depth > ALARM_RULE_DEPTH_MAX:
            raise RuleError("AlarmRule is nested too deeply")
        parts = [self._and(depth)]
        while self._peek().upper() == "OR":
            self._take()
            parts.append(self._and(depth))
        return parts[0] if len(parts) == 1 else lambda of: any(part(of) for part in parts)

    def _and(self, depth: int) -> Rule:
        parts = [self._not(depth)]
        while self._peek().upper() == "AND":
            self._take()
            parts.append(self._not(depth))
        return parts[0] if len(parts) == 1 else lambda of: all(part(of) for part in parts)

    def _not(self, depth: int) -> Rule:
        if self._peek().upper() != "NOT":
            return self._atom(depth)
        self._take()
        if depth > ALARM_RULE_DEPTH_MAX:
            raise RuleError("AlarmRule is nested too deeply")
        negated = self._not(depth + 1)
        return lambda of: not negated(of)

    def _atom(self, depth: int) -> Rule:
        token = self._take()
        if token == "(":
            rule = self._or(depth + 1)
            self._expect(")")
            return rule
        if token.upper() in ("TRUE", "FALSE"):
            truth = token.upper() == "TRUE"
            return lambda of: truth
        if token not in _STATES:
            raise RuleError(f"AlarmRule has an unexpected '{token}'")
        self._expect("(")
        name = _name_of(self._take())
        self._expect(")")
        if name not in self.children:
            self.children.append(name)
        return lambda of: of(name) == token


def _name_of(token: str) -> str:
    """Return the name of an alarm that is given by name or ARN, quoted or not."""
    text = re.sub(r"\\(.)", r"\1", token[1:-1]) if token.startswith('"') else token
    return text.split(":alarm:", 1)[1] if text.startswith("arn:") and ":alarm:" in text else text
