"""Authorises requests to KMS: by the policy of the key, by the caller's own policies, by grants.

As AWS has it, the policy of a key comes first: the caller's own policies count only if that policy
names the caller's account (or role). A grant allows what it lists to its grantee. An explicit deny
anywhere wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hashrange.api.access.context import DemandContext
from hashrange.api.access.demands import ANY, Demand, PlainKeys
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.keyring.ciphertexts import named_key
from hashrange.keyring.records import Key
from hashrange.keyring.store import ALIAS_PREFIX, KeyStore, Place, split_name
from hashrange.policies.documents import Kind
from hashrange.policies.evaluation import Decision, Grants, evaluate, resource_naming
from hashrange.policies.patterns import ContextValues
from hashrange.policies.principals import Naming
from hashrange.policies.statements import Policy

Compile = Callable[[str], Policy]
"""Returns the compiled form of a policy."""

# Operations on no key in particular.
_WITHOUT_KEY: Final = frozenset(
    {"CreateKey", "GenerateRandom", "ListAliases", "ListKeys", "ListRetirableGrants"}
)
_ON_ALIASES: Final = frozenset({"CreateAlias", "DeleteAlias", "UpdateAlias"})


def key_demands(scope: RequestScope, request: Request) -> list[tuple[Demand, str]]:
    """Return the permissions that a request to KMS needs, each with what it calls the key.

    An empty name means that there is no key whose policy could count.
    """
    operation = scope.operation
    action = f"kms:{operation}"
    if operation in _WITHOUT_KEY:
        return [(Demand(action, ANY), "")]
    if operation in _ON_ALIASES:
        place = (scope.caller.account, scope.caller.region)
        alias = f"arn:aws:kms:{place[1]}:{place[0]}:{request['AliasName']}"
        demands = [(Demand(action, alias), "")]
        target = request.get("TargetKeyId") or request["AliasName"]
        return [*demands, (_demand(scope, action, target, {}), target)]
    if operation == "ReEncrypt":
        source = request.get("SourceKeyId") or _named(request)
        target = request["DestinationKeyId"]
        before = request.get("SourceEncryptionContext") or {}
        after = request.get("DestinationEncryptionContext") or {}
        return [
            (_demand(scope, "kms:ReEncryptFrom", source, before), source),
            (_demand(scope, "kms:ReEncryptTo", target, after), target),
        ]
    name = request.get("KeyId") or _named(request)
    return [(_demand(scope, action, name, request.get("EncryptionContext") or {}), name)]


def _named(request: Request) -> str:
    """Return the key that a ciphertext names; requests that have none name no key at all."""
    blob = request.get("CiphertextBlob")
    return (named_key(blob) or "") if isinstance(blob, bytes) else ""


def _demand(scope: RequestScope, action: str, name: str, context: dict[str, str]) -> Demand:
    keys: dict[str, str | list[str]] = {"kms:calleraccount": scope.account}
    keys |= {f"kms:encryptioncontext:{key.lower()}": value for key, value in context.items()}
    if context:
        keys["kms:encryptioncontextkeys"] = list(context)
    resource = name
    if not name.startswith("arn:"):
        caller = scope.caller
        kind = "" if name.startswith(ALIAS_PREFIX) else "key/"
        resource = f"arn:aws:kms:{caller.region}:{caller.account}:{kind}{name}" if name else ANY
    return Demand(action, resource, None, PlainKeys(keys))


async def find_refusal(
    keys: KeyStore, scope: RequestScope, grants: Grants, request: Request, compile_policy: Compile
) -> tuple[Demand, Decision] | None:
    """Return the first permission that a request to KMS lacks, and why."""
    place = (scope.caller.account, scope.caller.region)
    retiring = scope.operation == "RetireGrant" and await _may_retire(keys, place, grants, request)
    if retiring:
        return None
    for demand, name in key_demands(scope, request):
        key = None
        if name and split_name(place, name) is not None:
            key = await keys.find(place, name, scope.context.clock.now())
        if key is not None:
            demand.resource = key.arn
        context = request.get("EncryptionContext") or {}
        values = DemandContext(scope, grants.principal, demand, None)
        decision = decide_key(grants, demand, key, context, values, compile_policy)
        if not decision.is_allowed:
            return demand, decision
    return None


async def _may_retire(keys: KeyStore, place: Place, grants: Grants, request: Request) -> bool:
    """Tell whether the caller is named as the one who may retire the grant."""
    for key in await keys.keys(place):
        for grant in key.grants:
            if request.get("GrantToken") == grant.token or request.get("GrantId") == grant.id:
                return grant.retiring in _names(grants)
    return False


def _names(grants: Grants) -> tuple[str, ...]:
    """Return the ARNs that stand for the caller."""
    principal = grants.principal
    return tuple(filter(None, (principal.arn, principal.issuer_arn)))


def decide_key(
    grants: Grants,
    demand: Demand,
    key: Key | None,
    context: dict[str, str],
    values: ContextValues,
    compile_policy: Compile,
) -> Decision:
    """Decide about an action with an encryption context on a key, None if there is no such key."""
    if key is None:
        return evaluate(grants, demand.action, demand.resource, values)
    policy = compile_policy(key.policy)
    decision = evaluate(grants, demand.action, demand.resource, values, policy, key.account)
    if decision.is_explicit:
        return decision
    operation = demand.action.removeprefix("kms:")
    if any(grant.permits(operation, _names(grants), context) for grant in key.grants):
        return Decision(is_allowed=True, kind=Kind.RESOURCE)
    if decision.is_allowed:
        naming = resource_naming(policy, grants.principal, demand.action, demand.resource, values)
        if naming is Naming.NONE:
            return Decision(is_allowed=False, kind=Kind.RESOURCE)
    return decision
