"""The authorise stage of a server with policies: every demand of a request must be allowed.

A caller without grants comes from a server without authentication, where everything is allowed.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import lru_cache
from typing import Final, final

from hashrange.api.access.context import DemandContext
from hashrange.api.access.demands import Demand, Place
from hashrange.api.access.rows import demands_of
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.errors import AccessDeniedException, ClientError, CorruptionError
from hashrange.identities.store import IdentityStore
from hashrange.model.schema import Table
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import Decision, Grants, evaluate
from hashrange.policies.statements import Policy

_POLICIES_CACHED_MAX: Final = 1024
_IAM: Final = "iam"


@final
class PolicyAuthoriser:
    """Decides by policies; `identities` are there where IAM is served."""

    def __init__(self, identities: IdentityStore | None = None) -> None:
        self._identities = identities

    def authorise(self, scope: RequestScope, request: Request) -> Awaitable[None] | None:
        """Refuse a request that lacks a permission."""
        grants = scope.caller.grants
        if grants is None:
            return None
        demands = demands_of(scope, request)
        if scope.service == _IAM and self._identities is not None:
            for demand in demands:
                demand.resource = self._identities.directory.with_path(demand.resource)
        for position, demand in enumerate(demands):
            place = demand.place
            table: Table | None = None
            if place is not None:
                catalog = scope.context.catalog
                table = catalog.known_table(place.account, place.region, place.name)
                if table is None:
                    return _authorise_rest(scope, grants, demands[position:])
            _check(scope, grants, demand, table)
        return None


async def _authorise_rest(scope: RequestScope, grants: Grants, demands: list[Demand]) -> None:
    for demand in demands:
        table = None if demand.place is None else await _find_table(scope, demand.place)
        _check(scope, grants, demand, table)


async def _find_table(scope: RequestScope, place: Place) -> Table | None:
    """Return a table, None if there is no such table (as the handler will say)."""
    try:
        return await scope.context.catalog.table(place.account, place.region, place.name)
    except ClientError:
        return None


def _check(scope: RequestScope, grants: Grants, demand: Demand, table: Table | None) -> None:
    decision = decide(scope, grants, demand, table)
    if not decision.is_allowed:
        raise refusal(grants, demand.action, demand.resource, decision)


def decide(scope: RequestScope, grants: Grants, demand: Demand, table: Table | None) -> Decision:
    """Decide about one demand."""
    context = DemandContext(scope, grants.principal, demand, table)
    policy: Policy | None = None
    if table is not None:
        text = table.stream_policies.get(demand.stream) if demand.stream else table.policy
        if text:
            policy = resource_policy(text)
    account = "" if demand.place is None else demand.place.account
    return evaluate(grants, demand.action, demand.resource, context, policy, account)


def refusal(grants: Grants, action: str, resource: str, decision: Decision) -> ClientError:
    """Return AWS's message about a permission that a caller lacks."""
    return AccessDeniedException(
        f"User: {grants.principal.arn} is not authorized to perform: {action} on resource: "
        f"{resource} {decision.explain(action)}"
    )


@lru_cache(_POLICIES_CACHED_MAX)
def resource_policy(text: str) -> Policy:
    """Return the compiled form of a policy that was checked when it was set."""
    try:
        return compile_policy(text, Kind.RESOURCE)
    except MalformedPolicyError as error:
        raise CorruptionError(f"resource policy is malformed: {error}") from error
