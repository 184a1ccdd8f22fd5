"""The decision: whether a principal may do something to a resource, and if not, why.

In AWS's order: an explicit deny in any policy; then, in the resource's account, an allow of the
resource policy that names the principal directly; then an allow of the identity policies (or of the
resource policy for its role) that the boundary and the session policy share. Across accounts, the
principal's account and the resource policy must both allow.

The statements of a principal's policies that cover an action and a resource are looked up once and
kept; where none of them has conditions, the outcome is kept as well.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.limits import POLICY_DECISIONS_CACHED_MAX
from hashrange.policies.documents import Kind
from hashrange.policies.patterns import ContextValues
from hashrange.policies.principals import Naming, Principal
from hashrange.policies.statements import Policy, Statement


@final
class Decision:
    """The outcome of an evaluation, and the kind of policy that caused a refusal."""

    __slots__ = ("is_allowed", "is_explicit", "kind", "matched")

    def __init__(
        self,
        *,
        is_allowed: bool,
        is_explicit: bool = False,
        kind: Kind = Kind.IDENTITY,
        matched: tuple[tuple[Policy, Statement], ...] = (),
    ) -> None:
        self.is_allowed = is_allowed
        self.is_explicit = is_explicit
        self.kind = kind
        self.matched = matched

    def explain(self, action: str) -> str:
        """Return the end of AWS's message about a refusal."""
        article = "a" if self.kind is not Kind.IDENTITY else "an"
        if self.is_explicit:
            return f"with an explicit deny in {article} {self.kind.value}"
        return f"because no {self.kind.value} allows the {action} action"


ALLOWED: Final = Decision(is_allowed=True)


@final
class Coverage:
    """The statements of some policies that cover one action and one resource."""

    __slots__ = ("allows", "denies", "is_fixed", "varies")

    def __init__(
        self, policies: list[Policy], action: str, resource: str, context: ContextValues
    ) -> None:
        self.denies: list[tuple[Policy, Statement]] = []
        self.allows: list[tuple[Policy, Statement]] = []
        self.varies = False
        self.is_fixed = True
        for policy in policies:
            for statement in policy.statements:
                if not statement.covers_action(action, context):
                    continue
                if statement.varies:
                    self.varies = True
                if statement.varies or statement.covers_resource(resource, context):
                    (self.denies if statement.is_deny else self.allows).append((policy, statement))
                    if statement.tests:
                        self.is_fixed = False

    def first(
        self, *, is_deny: bool, resource: str, context: ContextValues
    ) -> tuple[Policy, Statement] | None:
        """Return the first statement of an effect that applies to a request."""
        for found in self.denies if is_deny else self.allows:
            statement = found[1]
            if statement.varies and not statement.covers_resource(resource, context):
                continue
            if not statement.tests or statement.conditions_hold(context):
                return found
        return None


@final
class Coverages:
    """What the policies of one principal say about one action and one resource."""

    __slots__ = ("boundary", "decision", "identity", "session")

    def __init__(self, grants: Grants, action: str, resource: str, context: ContextValues) -> None:
        self.identity = Coverage(grants.identity, action, resource, context)
        self.boundary: Coverage | None = None
        if grants.boundary is not None:
            self.boundary = Coverage(grants.boundary, action, resource, context)
        self.session: Coverage | None = None
        if grants.session is not None:
            self.session = Coverage(grants.session, action, resource, context)
        # Set when it depends on nothing but principal, action and resource.
        self.decision: Decision | None = None

    def is_fixed(self) -> bool:
        for coverage in (self.identity, self.boundary, self.session):
            if coverage is not None and (coverage.varies or not coverage.is_fixed):
                return False
        return True


@final
class Grants:
    """A principal with its compiled policies, shared by all its requests until one changes."""

    __slots__ = ("_cache", "boundary", "identity", "principal", "session")

    def __init__(
        self,
        principal: Principal,
        identity: list[Policy],
        boundary: list[Policy] | None = None,
        session: list[Policy] | None = None,
    ) -> None:
        self.principal = principal
        self.identity = identity
        self.boundary = boundary
        self.session = session
        self._cache: dict[tuple[str, str], Coverages] = {}

    def coverages(self, action: str, resource: str, context: ContextValues) -> Coverages:
        """Return what the policies say about an action on a resource."""
        found = self._cache.get((action, resource))
        if found is None:
            if len(self._cache) >= POLICY_DECISIONS_CACHED_MAX:
                self._cache.clear()
            found = Coverages(self, action, resource, context)
            if found.is_fixed():
                found.decision = _decide(self.principal, found, None, resource, context)
            self._cache[(action, resource)] = found
        return found


def evaluate(
    grants: Grants,
    action: str,
    resource: str,
    context: ContextValues,
    resource_policy: Policy | None = None,
    resource_account: str = "",
) -> Decision:
    """Decide whether a principal may perform an action on a resource.

    `resource_account` is the account that owns the resource; empty means the principal's.
    """
    coverages = grants.coverages(action, resource, context)
    is_foreign = resource_account not in ("", grants.principal.account)
    if resource_policy is None and not is_foreign:
        if coverages.decision is not None:
            return coverages.decision
        return _decide(grants.principal, coverages, None, resource, context)
    policies = [resource_policy] if resource_policy is not None else []
    found = Coverage(policies, action, resource, context)
    if is_foreign:
        return _decide_foreign(grants.principal, coverages, found, resource, context)
    return _decide(grants.principal, coverages, found, resource, context)


def evaluate_resource_deny(
    policy: Policy, principal: Principal, action: str, resource: str, context: ContextValues
) -> bool:
    """Tell whether a resource policy denies something explicitly."""
    found = Coverage([policy], action, resource, context)
    return _resource_deny(found, principal, resource, context) is not None


def resource_naming(
    policy: Policy, principal: Principal, action: str, resource: str, context: ContextValues
) -> Naming:
    """Return the strongest way in which a resource policy allows something to a principal."""
    return _resource_allow(
        Coverage([policy], action, resource, context), principal, resource, context
    )[0]


def _resource_deny(
    found: Coverage, principal: Principal, resource: str, context: ContextValues
) -> tuple[Policy, Statement] | None:
    for pair in found.denies:
        statement = pair[1]
        if (
            statement.naming(principal) is not Naming.NONE
            and (not statement.varies or statement.covers_resource(resource, context))
            and statement.conditions_hold(context)
        ):
            return pair
    return None


def _resource_allow(
    found: Coverage, principal: Principal, resource: str, context: ContextValues
) -> tuple[Naming, tuple[Policy, Statement] | None]:
    """Return the strongest way in which a resource policy allows a request."""
    best = Naming.NONE
    by: tuple[Policy, Statement] | None = None
    for pair in found.allows:
        statement = pair[1]
        naming = statement.naming(principal)
        if (
            naming > best
            and (not statement.varies or statement.covers_resource(resource, context))
            and statement.conditions_hold(context)
        ):
            best, by = naming, pair
    return best, by


def _explicit_deny(
    principal: Principal,
    coverages: Coverages,
    found: Coverage | None,
    resource: str,
    context: ContextValues,
) -> Decision | None:
    kinds = (
        (Kind.IDENTITY, coverages.identity),
        (Kind.BOUNDARY, coverages.boundary),
        (Kind.SESSION, coverages.session),
    )
    for kind, coverage in kinds:
        if coverage is not None and coverage.denies:
            deny = coverage.first(is_deny=True, resource=resource, context=context)
            if deny is not None:
                return Decision(is_allowed=False, is_explicit=True, kind=kind, matched=(deny,))
    if found is not None:
        deny = _resource_deny(found, principal, resource, context)
        if deny is not None:
            return Decision(is_allowed=False, is_explicit=True, kind=Kind.RESOURCE, matched=(deny,))
    return None


def _decide(
    principal: Principal,
    coverages: Coverages,
    found: Coverage | None,
    resource: str,
    context: ContextValues,
) -> Decision:
    """Decide within one account."""
    denied = _explicit_deny(principal, coverages, found, resource, context)
    if denied is not None:
        return denied
    naming, by = Naming.NONE, None
    if found is not None:
        naming, by = _resource_allow(found, principal, resource, context)
    if naming is Naming.DIRECT:
        assert by is not None
        return Decision(is_allowed=True, kind=Kind.RESOURCE, matched=(by,))
    return _decide_identity(coverages, resource, context, by if naming is Naming.ISSUER else None)


def _decide_identity(
    coverages: Coverages,
    resource: str,
    context: ContextValues,
    granted: tuple[Policy, Statement] | None = None,
) -> Decision:
    """Decide by the principal's own policies; `granted` stands for an allow of the identity."""
    allow = granted or coverages.identity.first(is_deny=False, resource=resource, context=context)
    if allow is None:
        return Decision(is_allowed=False, kind=Kind.IDENTITY)
    matched = [allow]
    for kind, coverage in (
        (Kind.BOUNDARY, coverages.boundary),
        (Kind.SESSION, coverages.session),
    ):
        if coverage is not None:
            allow = coverage.first(is_deny=False, resource=resource, context=context)
            if allow is None:
                return Decision(is_allowed=False, kind=kind)
            matched.append(allow)
    return Decision(is_allowed=True, matched=tuple(matched))


def _decide_foreign(
    principal: Principal,
    coverages: Coverages,
    found: Coverage,
    resource: str,
    context: ContextValues,
) -> Decision:
    """Decide about a resource of another account: both accounts must allow."""
    denied = _explicit_deny(principal, coverages, found, resource, context)
    if denied is not None:
        return denied
    own = _decide_identity(coverages, resource, context)
    if not own.is_allowed:
        return own
    _, by = _resource_allow(found, principal, resource, context)
    if by is None:
        return Decision(is_allowed=False, kind=Kind.RESOURCE)
    return Decision(is_allowed=True, kind=Kind.RESOURCE, matched=(*own.matched, by))
