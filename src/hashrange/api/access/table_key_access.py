"""Permissions on the KMS keys of tables: whoever uses a table uses its key through DynamoDB.

As on AWS, the service asks KMS with the permissions of the caller: `kms:Decrypt` for calls on items
and stream records, and `kms:DescribeKey`, `kms:CreateGrant` and `kms:Decrypt` of a key that a
request chooses for a table. Policies see the condition keys of a call through DynamoDB, such as
`kms:ViaService`. The key that is managed for an account is open to everybody in that account.
A stream has the key of the table that it is of, also when that is gone or has a successor of the
same name.

A key that cannot be used at all is not looked at here: storage refuses its tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.api.access.context import DemandContext
from hashrange.api.access.demands import Demand, Place, PlainKeys, place_of
from hashrange.api.access.key_access import Compile, decide_key
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.errors import AccessDeniedException
from hashrange.keyring.records import Key
from hashrange.keyring.store import KeyStore, split_name
from hashrange.keyring.table_keys import denied, encryption_context
from hashrange.limits import POLICY_DECISIONS_CACHED_MAX
from hashrange.model.schema import Table
from hashrange.policies.evaluation import Decision, Grants
from hashrange.storage.sealed_spaces import find_stream_key
from hashrange.storage.streams import find_stream

DECRYPT: Final = "kms:Decrypt"

_USES: Final = frozenset(
    f"dynamodb:{action}"
    for action in (
        *("BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem"),
        *("GetRecords", "PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate"),
        *("PutItem", "Query", "Scan", "UpdateItem"),
    )
)
_CHOOSING: Final = ("kms:DescribeKey", "kms:CreateGrant", DECRYPT)
# Beginnings of condition keys that stay as they are for one caller and one table.
_STABLE: Final = ("kms:", "aws:principal", "aws:userid", "aws:username", "aws:called", "aws:via")
_TARGETS: Final = ("TableName", "TargetTableName")
_SPECIFICATIONS: Final = ("SSESpecification", "SSESpecificationOverride")

Chosen = tuple[str, str]
"""What a request calls the key that it chooses, and the name of the table."""


@dataclass(frozen=True, slots=True)
class StreamUse:
    """The use of a stream; `arn` is its own, the rest is of its table, which may be gone."""

    arn: str
    account: str
    region: str
    name: str
    encryption_key_arn: str | None


def is_open(scope: RequestScope, table: Table | StreamUse, counter: int) -> bool:
    """Tell whether the caller is known to be allowed to use the key of a table, if it has one."""
    key_arn = table.encryption_key_arn
    return key_arn is None or is_known(scope, table.arn, counter)


def is_known(scope: RequestScope, arn: str, counter: int) -> bool:
    """Tell whether the caller was found to be allowed to use the key of a table or stream."""
    return scope.caller.allowed.get((DECRYPT, arn)) == counter


async def find_stream_use(scope: RequestScope, demand: Demand) -> StreamUse | None:
    """Return the use of the stream that a demand names; None if it has no key, or is not there."""
    place, engine = demand.place, scope.engine
    assert place is not None
    counter = engine.counter()
    where = (place.account, place.region, place.name)
    stream = await find_stream(engine, *where, demand.stream, scope.clock.now())
    if stream is None:
        return None
    key_arn = await find_stream_key(engine, stream)
    if key_arn is None:
        _note(scope, demand.resource, counter)
        return None
    return StreamUse(demand.resource, *where, key_arn)


def is_use(demand: Demand) -> bool:
    """Tell whether a demand is about items or stream records, which a key protects."""
    return demand.action in _USES


def chosen_key(request: Request) -> Chosen | None:
    """Return the key that a request chooses for a table; None if it does not, or has no choice."""
    members: dict[str, Any] = request.get("TableCreationParameters") or request
    for name in _SPECIFICATIONS:
        specification = members.get(name)
        if isinstance(specification, dict) and specification.get("Enabled"):
            key_id = specification.get("KMSMasterKeyId")
            tables = [members[target] for target in _TARGETS if members.get(target)]
            return (key_id, tables[0]) if key_id and tables else None
    return None


async def find_choice_refusal(
    keys: KeyStore, scope: RequestScope, grants: Grants, chosen: Chosen, compile_policy: Compile
) -> tuple[Demand, Decision] | None:
    """Return the first permission that the caller lacks for a key that it chooses, and why."""
    key_id, name = chosen
    place = place_of(scope, name)
    found = await keys.find((place.account, place.region), key_id, scope.clock.now())
    if found is None:
        return None
    for action in _CHOOSING:
        demand, context = _demand(scope, action, found, place)
        values = DemandContext(scope, grants.principal, demand, None)
        decision = decide_key(grants, demand, found, context, values, compile_policy)
        if not decision.is_allowed:
            return demand, decision
    return None


async def check_uses(
    keys: KeyStore,
    scope: RequestScope,
    grants: Grants,
    tables: Sequence[Table | StreamUse],
    compile_policy: Compile,
) -> None:
    """Refuse a request for tables whose keys the caller must not use."""
    for table in tables:
        counter = scope.engine.counter()
        if is_open(scope, table, counter):
            continue
        assert table.encryption_key_arn is not None
        found = split_name(("", ""), table.encryption_key_arn)
        key = None if found is None else await keys.key(*found)
        if key is None:
            continue
        is_stable = True
        if key.is_aws_managed:
            is_allowed = scope.account == table.account
        else:
            place = Place(table.account, table.region, table.name)
            demand, context = _demand(scope, DECRYPT, key, place)
            values = _WatchedContext(DemandContext(scope, grants.principal, demand, None))
            decision = decide_key(grants, demand, key, context, values, compile_policy)
            is_allowed, is_stable = decision.is_allowed, values.is_stable
        if not is_allowed:
            raise _refusal(scope)
        if is_stable:
            _note(scope, table.arn, counter)


def _note(scope: RequestScope, arn: str, counter: int) -> None:
    """Remember that the caller may use a key; every change of keys moves the change counter."""
    allowed = scope.caller.allowed
    if len(allowed) >= POLICY_DECISIONS_CACHED_MAX:
        allowed.clear()
    allowed[(DECRYPT, arn)] = counter


def _demand(
    scope: RequestScope, action: str, key: Key, place: Place
) -> tuple[Demand, dict[str, str]]:
    """Return what DynamoDB asks KMS for the caller, and the encryption context of that."""
    context = encryption_context(place.account, place.name)
    service = f"dynamodb.{place.region}.amazonaws.com"
    values: dict[str, str | list[str]] = {
        f"kms:encryptioncontext:{name.lower()}": value for name, value in context.items()
    }
    values |= {
        "kms:encryptioncontextkeys": list(context),
        "kms:viaservice": service,
        "kms:calleraccount": scope.account,
        "kms:grantisforawsresource": "true",
        "aws:viaawsservice": "true",
        "aws:calledvia": ["dynamodb.amazonaws.com"],
        "aws:calledviafirst": "dynamodb.amazonaws.com",
        "aws:calledvialast": "dynamodb.amazonaws.com",
    }
    return Demand(action, key.arn, None, PlainKeys(values)), context


def _refusal(scope: RequestScope) -> AccessDeniedException:
    return denied(
        "com.amazonaws.services.kms.model.AWSKMSException: The ciphertext refers to a customer "
        "master key that does not exist, does not exist in this region, or you are not allowed to "
        "access. (Service: AWSKMS; Status Code: 400; Error Code: AccessDeniedException; "
        f"Request ID: {scope.request_id}; Proxy: null)"
    )


@final
class _WatchedContext:
    """Condition keys, and whether those asked for stay as they are for caller and table."""

    __slots__ = ("_values", "is_stable")

    def __init__(self, values: DemandContext) -> None:
        self._values = values
        self.is_stable = True

    def find(self, key: str) -> str | list[str] | None:
        if not key.startswith(_STABLE):
            self.is_stable = False
        return self._values.find(key)
