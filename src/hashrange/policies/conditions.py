"""Condition blocks: what a statement asks of the condition keys of a request.

Every test of a block must hold. A test has one key, an operator, and values of which one must match
(for a negated operator: none may match).

A key may be absent. Negated operators and `...IfExists` hold then, `ForAllValues:` holds,
everything else fails. A key with several values needs `ForAllValues:` or `ForAnyValue:`. Without
either, an operator never holds for it; a negated one holds for an Allow if all values differ from
the policy's, and for a Deny if one does. A variable without a value matches nothing, and it never
makes an Allow apply.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from hashrange.policies.operators import AFFIRMATIONS, NEGATIONS, NULL, Expected, prepare
from hashrange.policies.patterns import ContextValues

_IF_EXISTS: Final = "IfExists"


class Quantifier(Enum):
    """How the values of a key with several are taken."""

    NONE = ""
    ALL = "ForAllValues"
    ANY = "ForAnyValue"


@final
class OperatorName:
    """The parts of an operator as policies write it, such as `ForAnyValue:StringLikeIfExists`."""

    __slots__ = ("base", "if_exists", "is_negated", "quantifier")

    def __init__(
        self, base: str, quantifier: Quantifier, *, is_negated: bool, if_exists: bool
    ) -> None:
        self.base = base
        self.quantifier = quantifier
        self.is_negated = is_negated
        self.if_exists = if_exists


def read_operator(text: str) -> OperatorName | None:
    """Return the parts of an operator, None if there is no such operator."""
    prefix, colon, name = text.rpartition(":")
    if colon and prefix not in (Quantifier.ALL.value, Quantifier.ANY.value):
        return None
    quantifier = Quantifier(prefix)
    if_exists = name.endswith(_IF_EXISTS)
    if if_exists:
        name = name[: -len(_IF_EXISTS)]
    if name == NULL:
        return (
            None if if_exists else OperatorName(NULL, quantifier, is_negated=False, if_exists=False)
        )
    is_negated = name in NEGATIONS
    base = NEGATIONS.get(name, name)
    if base not in AFFIRMATIONS:
        return None
    return OperatorName(base, quantifier, is_negated=is_negated, if_exists=if_exists)


@final
class Test:
    """One operator applied to one key."""

    __slots__ = ("_expected", "_is_deny", "_is_null", "_name", "_null_values", "key")

    def __init__(
        self,
        key: str,
        name: OperatorName,
        values: list[str],
        *,
        is_deny: bool,
        has_variables: bool,
    ) -> None:
        self.key = key.lower()
        self._name = name
        self._is_deny = is_deny
        self._is_null = name.base == NULL
        self._null_values = [value.lower() for value in values]
        self._expected: list[Expected] = []
        if not self._is_null:
            self._expected = [
                prepare(name.base, value, has_variables=has_variables) for value in values
            ]

    def holds(self, context: ContextValues) -> bool:
        """Tell whether a request passes the test."""
        value = context.find(self.key)
        is_absent = value is None or (isinstance(value, list) and not value)
        if self._is_null:
            return ("true" if is_absent else "false") in self._null_values
        name = self._name
        if is_absent:
            if name.quantifier is Quantifier.ANY:
                return name.if_exists
            return name.if_exists or name.is_negated or name.quantifier is Quantifier.ALL
        assert value is not None
        if isinstance(value, str):
            return self._value_holds(value, context)
        if name.quantifier is Quantifier.ALL:
            return self._all_hold(value, context)
        if name.quantifier is Quantifier.ANY:
            return self._any_holds(value, context)
        if not name.is_negated:
            return False
        return self._any_holds(value, context) if self._is_deny else self._all_hold(value, context)

    def _all_hold(self, values: list[str], context: ContextValues) -> bool:
        for value in values:  # noqa: SIM110  (a generator would double the cost)
            if not self._value_holds(value, context):
                return False
        return True

    def _any_holds(self, values: list[str], context: ContextValues) -> bool:
        for value in values:  # noqa: SIM110  (a generator would double the cost)
            if self._value_holds(value, context):
                return True
        return False

    def _value_holds(self, value: str, context: ContextValues) -> bool:
        is_negated = self._name.is_negated
        for expected in self._expected:
            outcome = expected.matches(value, context)
            if outcome is None:
                if is_negated and not self._is_deny:
                    return False
            elif outcome:
                return not is_negated
        return is_negated


def all_hold(tests: list[Test], context: ContextValues) -> bool:
    """Tell whether a request passes all tests of a condition block."""
    for test in tests:  # noqa: SIM110  (a generator would double the cost)
        if not test.holds(context):
            return False
    return True
