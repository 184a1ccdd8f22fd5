"""Compiled policies: statements that can be asked whether they apply to a request."""

from __future__ import annotations

from typing import Final, final

from hashrange.policies.conditions import Test, all_hold
from hashrange.policies.patterns import ContextValues, Pattern
from hashrange.policies.principals import Naming, Principal, PrincipalElement, is_of_principal


@final
class Elements:
    """Patterns of an Action or Resource element, or of their negation."""

    __slots__ = ("is_negated", "keys", "patterns")

    def __init__(self, patterns: list[Pattern], *, is_negated: bool) -> None:
        self.patterns = patterns
        self.is_negated = is_negated
        self.keys = frozenset(key for pattern in patterns for key in pattern.keys)

    def cover(self, text: str, context: ContextValues, *, is_deny: bool) -> bool:
        """Tell whether the element covers an action or a resource.

        A variable without a value matches nothing, and never makes an Allow apply.
        """
        for pattern in self.patterns:
            outcome = pattern.matches(text, context)
            if outcome is None:
                if self.is_negated and not is_deny:
                    return False
            elif outcome:
                return not self.is_negated
        return self.is_negated


@final
class Statement:
    """One statement of a policy; `principal` only in policies of resources and roles."""

    __slots__ = (
        "actions",
        "is_deny",
        "is_principal_negated",
        "principal",
        "resources",
        "sid",
        "tests",
        "varies",
    )

    def __init__(
        self,
        sid: str,
        *,
        is_deny: bool,
        actions: Elements,
        resources: Elements,
        tests: list[Test],
        principal: PrincipalElement | None = None,
        is_principal_negated: bool = False,
    ) -> None:
        self.sid = sid
        self.is_deny = is_deny
        self.actions = actions
        self.resources = resources
        self.tests = tests
        self.principal = principal
        self.is_principal_negated = is_principal_negated
        # Whether the resources covered differ between two requests of one principal.
        self.varies = not all(is_of_principal(key) for key in resources.keys)

    def covers_action(self, action: str, context: ContextValues) -> bool:
        return self.actions.cover(action, context, is_deny=self.is_deny)

    def covers_resource(self, resource: str, context: ContextValues) -> bool:
        return self.resources.cover(resource, context, is_deny=self.is_deny)

    def conditions_hold(self, context: ContextValues) -> bool:
        return all_hold(self.tests, context)

    def naming(self, principal: Principal) -> Naming:
        """Return how the statement names a principal; statements of identities name theirs."""
        if self.principal is None:
            return Naming.DIRECT
        if not self.is_principal_negated:
            return self.principal.naming(principal)
        return Naming.NONE if self.principal.excepts(principal) else Naming.DIRECT


@final
class Policy:
    """A compiled policy document with the name it goes by."""

    __slots__ = ("name", "statements")

    def __init__(self, name: str, statements: list[Statement]) -> None:
        self.name = name
        self.statements = statements


@final
class NoContext:
    """The context of a request without condition keys."""

    def find(self, key: str) -> str | list[str] | None:
        return None


NO_CONTEXT: Final = NoContext()
