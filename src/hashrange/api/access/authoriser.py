"""The authorise stage of a server with policies: every demand of a request must be allowed.

A caller without grants comes from a server without authentication, where everything is allowed.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import lru_cache
from typing import Final, final

from hashrange.api.access.context import DemandContext
from hashrange.api.access.demands import Demand, Place
from hashrange.api.access.key_access import find_refusal
from hashrange.api.access.rows import demands_of
from hashrange.api.access.table_key_access import (
    StreamUse,
    check_uses,
    chosen_key,
    find_choice_refusal,
    find_stream_use,
    is_known,
    is_open,
    is_use,
)
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.errors import AccessDeniedException, ClientError, CorruptionError
from hashrange.identities.store import IdentityStore
from hashrange.keyring.store import KeyStore
from hashrange.limits import POLICY_DECISIONS_CACHED_MAX
from hashrange.model.schema import Table
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import Decision, Grants, evaluate
from hashrange.policies.statements import Policy

_POLICIES_CACHED_MAX: Final = 1024
_DYNAMODB: Final = "dynamodb"
_IAM: Final = "iam"
_KMS: Final = "kms"

PLAIN: Final = frozenset({"DeleteItem", "GetItem", "PutItem", "UpdateItem"})
"""Operations that need one permission, of their own name, on the one table that they name."""


@final
class PolicyAuthoriser:
    """Decides by policies; `identities` are there where IAM is served, `keys` where KMS is."""

    def __init__(
        self, identities: IdentityStore | None = None, keys: KeyStore | None = None
    ) -> None:
        self._identities = identities
        self._keys = keys

    def authorise(self, scope: RequestScope, request: Request) -> Awaitable[None] | None:
        """Refuse a request that lacks a permission."""
        caller = scope.caller
        grants = caller.grants
        if grants is None:
            return None
        if scope.operation in PLAIN and scope.service == _DYNAMODB:
            counter = scope.context.engine.counter()
            key = (scope.operation, request["TableName"])
            if caller.allowed.get(key) == counter:
                return None
            self._note_plain(scope, grants, key, counter)
        if scope.service == _KMS and self._keys is not None:
            return _authorise_keys(self._keys, scope, grants, request)
        demands = demands_of(scope, request)
        if scope.service == _IAM and self._identities is not None:
            for demand in demands:
                demand.resource = self._identities.directory.with_path(demand.resource)
        used: list[Table | StreamUse] = []
        for position, demand in enumerate(demands):
            place = demand.place
            table: Table | None = None
            if place is not None:
                catalog = scope.context.catalog
                table = catalog.known_table(place.account, place.region, place.name)
                if table is None or self._has_unknown_key(scope, demand):
                    return self._authorise_rest(scope, grants, request, demands[position:], used)
                if table.encryption_key_arn is not None and is_use(demand) and not demand.stream:
                    used.append(table)
            _check(scope, grants, demand, table)
        if not used and (scope.service != _DYNAMODB or chosen_key(request) is None):
            return None
        return self._authorise_table_keys(scope, grants, request, used)

    async def _authorise_rest(
        self,
        scope: RequestScope,
        grants: Grants,
        request: Request,
        demands: list[Demand],
        used: list[Table | StreamUse],
    ) -> None:
        for demand in demands:
            table = None if demand.place is None else await _find_table(scope, demand.place)
            _check(scope, grants, demand, table)
            if self._has_unknown_key(scope, demand):
                stream = await find_stream_use(scope, demand)
                used += () if stream is None else (stream,)
            elif table is not None and is_use(demand) and not demand.stream:
                used.append(table)
        await self._authorise_table_keys(scope, grants, request, used)

    def _has_unknown_key(self, scope: RequestScope, demand: Demand) -> bool:
        """Tell whether it has to be looked up if the caller may use the key of a stream."""
        if self._keys is None or not demand.stream or not is_use(demand):
            return False
        return not is_known(scope, demand.resource, scope.engine.counter())

    async def _authorise_table_keys(
        self,
        scope: RequestScope,
        grants: Grants,
        request: Request,
        used: list[Table | StreamUse],
    ) -> None:
        """Refuse the use or the choice of a table's KMS key that the caller must not use."""
        if self._keys is None:
            return
        await check_uses(self._keys, scope, grants, used, resource_policy)
        chosen = chosen_key(request)
        if chosen is not None:
            found = await find_choice_refusal(self._keys, scope, grants, chosen, resource_policy)
            if found is not None:
                raise refusal(grants, found[0].action, found[0].resource, found[1])

    def _note_plain(
        self, scope: RequestScope, grants: Grants, key: tuple[str, str], counter: int
    ) -> None:
        """Remember that an operation on a table is allowed whatever the request asks for.

        That is so if the statements that cover it have no conditions, and the table no policy. It
        lasts until the change counter moves, as it does when a table or a policy changes.
        """
        caller = scope.caller
        table = scope.context.catalog.known_table(caller.account, caller.region, key[1])
        if table is None or table.policy is not None or table.account != grants.principal.account:
            return
        if self._keys is not None and not is_open(scope, table, counter):
            return
        action = f"dynamodb:{key[0]}"
        context = DemandContext(scope, grants.principal, Demand(action, table.arn), table)
        decision = grants.coverages(action, table.arn, context).decision
        if decision is not None and decision.is_allowed:
            if len(caller.allowed) >= POLICY_DECISIONS_CACHED_MAX:
                caller.allowed.clear()
            caller.allowed[key] = counter


async def _authorise_keys(
    keys: KeyStore, scope: RequestScope, grants: Grants, request: Request
) -> None:
    found = await find_refusal(keys, scope, grants, request, resource_policy)
    if found is not None:
        demand, decision = found
        raise refusal(grants, demand.action, demand.resource, decision)


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
