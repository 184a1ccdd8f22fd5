"""The admission stage of a server with fault injection: requests meet the faults of the rules.

Faults come where a request would be throttled: after authentication, authorisation and the checks
of its shape. Only DynamoDB and its streams are concerned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, final

from hashrange.api.operation import Context, Request
from hashrange.api.scope import RequestScope
from hashrange.errors import (
    InternalServerError,
    ProvisionedThroughputExceededException,
    TransactionCanceledException,
    TransactionConflictException,
)
from hashrange.injection.rules import FaultPlan, FaultRule, tables_of
from hashrange.injection.stale_reads import RememberingEngine
from hashrange.injection.store import FaultStore

Sleep = Callable[[float], Awaitable[None]]

_SERVICES: Final = frozenset({"dynamodb", "dynamodbstreams"})
_READS: Final = frozenset(
    {"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems", "ExecuteStatement"}
)
_THROTTLED: Final = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_CONFLICT: Final = "Transaction is ongoing for the item"


@final
class FaultAdmission:
    """Has requests meet faults."""

    def __init__(self, store: FaultStore, engine: RememberingEngine, sleep: Sleep) -> None:
        self._store = store
        self._engine = engine
        self._sleep = sleep

    def admit(self, scope: RequestScope, request: Request) -> Awaitable[None] | None:
        """Return nothing when there are no rules; else what to wait for."""
        if scope.service not in _SERVICES:
            return None
        plan = self._store.known_plan
        if plan is not None and not plan.rules:
            return None
        return self._meet(scope, request, plan)

    async def _meet(self, scope: RequestScope, request: Request, plan: FaultPlan | None) -> None:
        plan = plan or await self._store.plan()
        for rule in plan.draw(scope.operation, tables_of(request)):
            if rule.kind == "delay":
                await self._sleep(rule.seconds)
            elif rule.kind == "stale":
                self._show_stale(scope, rule)
            else:
                raise _error(rule, scope, request)

    def _show_stale(self, scope: RequestScope, rule: FaultRule) -> None:
        """Let the eventually consistent reads of a request be behind."""
        context = scope.context
        scope.context = Context(
            context.account,
            context.region,
            catalog=context.catalog,
            engine=self._engine.view(rule.seconds),
            clock=context.clock,
            table_keys=context.table_keys,
            address=context.address,
        )


def _error(rule: FaultRule, scope: RequestScope, request: Request) -> Exception:
    if rule.kind == "fail":
        return InternalServerError("Internal server error")
    if rule.kind == "throttle":
        return _throttled(scope, request)
    members: list[Any] = request.get("TransactItems") or request.get("TransactStatements") or []
    if not members:
        return TransactionConflictException(_CONFLICT)
    reasons = [{"Code": "TransactionConflict", "Message": _CONFLICT} for _ in members]
    codes = ", ".join("TransactionConflict" for _ in members)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        {"CancellationReasons": reasons},
    )


def _throttled(scope: RequestScope, request: Request) -> Exception:
    direction = "Read" if scope.operation in _READS else "Write"
    reason = f"Table{direction}ProvisionedThroughputExceeded"
    name = next(iter(tables_of(request)), "")
    arn = f"arn:aws:dynamodb:{scope.region}:{scope.account}:table/{name}"
    error = ProvisionedThroughputExceededException(
        _THROTTLED, {"ThrottlingReasons": [{"reason": reason, "resource": arn}]}
    )
    error.table, error.reason = name, reason
    return error
