"""TransactGetItems and TransactWriteItems: several items, all or nothing.

What can be judged from the request alone is refused as for single calls. What depends on a
table's schema or on the stored items cancels the transaction, with a reason for each action.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from hashrange.api.arguments import (
    Kind,
    WriteArguments,
    read_get_arguments,
    read_write_arguments,
)
from hashrange.api.item_writes import check_put, make_delete, make_put, make_update
from hashrange.api.keys import request_key
from hashrange.api.operation import Context, Request, Response
from hashrange.api.outcomes import (
    Capacity,
    capacity_detail,
    collection_metrics,
    read_units,
    wants_collection_metrics,
)
from hashrange.api.refusals import CONDITION_FAILED
from hashrange.engine.base import StoreKey
from hashrange.errors import (
    ConflictError,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.limits import TRANSACTION_BYTES_MAX
from hashrange.model.schema import Table
from hashrange.model.values import OLDER, check_item
from hashrange.storage.layout import row_size, splice, unpack_item
from hashrange.storage.tokens import TokenCheck
from hashrange.storage.writes import CheckWrite, GroupWrite, ItemOutcome, ItemWrite

_TOO_LARGE = "Transaction request size has exceeded the maximum allowed size"
_SEVERAL = "Transaction request cannot include multiple operations on one item"
_NO_REASON = {"Code": "None"}
_KINDS: dict[str, Kind] = {
    "ConditionCheck": "check",
    "Put": "put",
    "Delete": "delete",
    "Update": "update",
}


_Bound = TypeVar("_Bound", covariant=True)


class _Part(Protocol[_Bound]):
    """A part of a transaction that still has to be held against its table."""

    def bind(self, table: Table) -> _Bound: ...


class _Action:
    """One action of a TransactWriteItems, checked as far as the request alone allows."""

    __slots__ = ("arguments", "kind", "request", "size")

    def __init__(self, member: Request) -> None:
        if len(member) != 1:
            raise ValidationException(
                "TransactItems can only contain one of Check, Put, Update or Delete"
            )
        self.kind, self.request = next(iter(member.items()))
        if self.kind == "Put":
            self.size = check_put(self.request["Item"], OLDER)
        else:
            self.size = check_item(self.request["Key"], OLDER)
        self.arguments: WriteArguments = read_write_arguments(
            self.request, kind=_KINDS[self.kind], wording=OLDER
        )

    def bind(self, table: Table) -> ItemWrite:
        """Return the item write for the action's table."""
        if self.kind == "Put":
            return make_put(table, self.request["Item"], self.size, self.arguments.condition)
        key = self.request["Key"]
        if self.kind == "Update":
            return make_update(table, key, self.arguments, counts_actions=False)
        if self.kind == "Delete":
            return make_delete(table, key, self.arguments.condition)
        return CheckWrite(table, request_key(table, key), key, self.arguments.condition)


class _Get:
    """One get of a TransactGetItems, checked as far as the request alone allows."""

    __slots__ = ("projection", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        check_item(request["Key"], OLDER)
        self.projection = read_get_arguments(request)

    def bind(self, table: Table) -> StoreKey:
        """Return where the item is."""
        return table.store, request_key(table, self.request["Key"])

    def shown(self, row: bytes) -> object:
        """Return the item, or the part of it that was asked for."""
        return splice(row) if self.projection is None else self.projection.apply(unpack_item(row))


async def transact_write_items(context: Context, request: Request) -> Response:
    """Carry out all actions, or none."""
    actions = [_Action(member) for member in request["TransactItems"]]
    if sum(action.size for action in actions) > TRANSACTION_BYTES_MAX:
        raise ValidationException(_TOO_LARGE)
    tables = [
        await context.catalog.table(context.account, context.region, action.request["TableName"])
        for action in actions
    ]
    writes = _bind_all(actions, tables)
    _check_distinct([(write.table.store, write.key) for write in writes])
    now = context.clock.now()
    token = _token(context, request, now)
    try:
        outcomes = await context.engine.write(
            GroupWrite(writes, is_transaction=True, now=now, token=token)
        )
    except ConflictError as error:
        raise _cancelled([_conflict() for _ in actions]) from error
    if outcomes is None:
        return await _report_repeat(context, request, writes)
    assert isinstance(outcomes, list)
    reasons = [_reason(action, outcome) for action, outcome in zip(actions, outcomes, strict=True)]
    if any(reason is not _NO_REASON for reason in reasons):
        raise _cancelled(reasons)
    return _report_writes(request, writes, outcomes)


def _token(context: Context, request: Request, now: float) -> TokenCheck | None:
    token = request.get("ClientRequestToken")
    if token is None:
        return None
    name = f"{context.account}/{context.region}/{token}"
    return TokenCheck(name, request["TransactItems"], now)


def _bind_all(parts: Sequence[_Part[_Bound]], tables: Sequence[Table]) -> list[_Bound]:
    """Bind every part to its table; what does not fit cancels the transaction."""
    bound: list[_Bound] = []
    reasons: list[dict[str, Any]] = []
    for part, table in zip(parts, tables, strict=True):
        try:
            bound.append(part.bind(table))
            reasons.append(_NO_REASON)
        except ValidationException as error:
            reasons.append({"Code": "ValidationError", "Message": error.message})
    if any(reason is not _NO_REASON for reason in reasons):
        raise _cancelled(reasons)
    return bound


def _check_distinct(keys: Sequence[StoreKey]) -> None:
    if len(set(keys)) != len(keys):
        raise ValidationException(_SEVERAL)


def _reason(action: _Action, outcome: ItemOutcome | ValidationException) -> dict[str, Any]:
    if isinstance(outcome, ValidationException):
        return {"Code": "ValidationError", "Message": outcome.message}
    if outcome.matched:
        return _NO_REASON
    reason: dict[str, Any] = {"Code": "ConditionalCheckFailed", "Message": CONDITION_FAILED}
    wanted = action.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    if wanted and outcome.old is not None:
        reason["Item"] = splice(outcome.old)
    return reason


def _conflict() -> dict[str, Any]:
    return {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}


def _cancelled(reasons: Sequence[dict[str, Any]]) -> TransactionCanceledException:
    codes = ", ".join(reason["Code"] for reason in reasons)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        {"CancellationReasons": list(reasons)},
    )


def _report_writes(
    request: Request, writes: Sequence[ItemWrite], outcomes: Sequence[ItemOutcome]
) -> Response:
    capacities: dict[str, Capacity] = {}
    metrics: dict[str, list[Any]] = {}
    for write, outcome in zip(writes, outcomes, strict=True):
        name = write.table.name
        capacities.setdefault(name, Capacity(write.table)).charge_write(outcome, factor=2)
        if write.table.local_indexes and not isinstance(write, CheckWrite):
            metrics.setdefault(name, []).append(collection_metrics(write, outcome))
    response = _with_capacity({}, request, list(capacities.values()), "Write")
    if metrics and wants_collection_metrics(request):
        response["ItemCollectionMetrics"] = metrics
    return response


async def _report_repeat(
    context: Context, request: Request, writes: Sequence[ItemWrite]
) -> Response:
    """Answer a request that was carried out before: it only reads the items."""
    rows = await context.engine.read([(write.table.store, write.key) for write in writes])
    return _report_reads(request, [write.table for write in writes], rows)


def _report_reads(
    request: Request, tables: Sequence[Table], rows: Sequence[bytes | None]
) -> Response:
    capacities: dict[str, Capacity] = {}
    for table, row in zip(tables, rows, strict=True):
        size = 0 if row is None else row_size(row)
        capacity = capacities.setdefault(table.name, Capacity(table))
        capacity.table_units += 2 * read_units(size, consistent=True)
    return _with_capacity({}, request, list(capacities.values()), "Read")


def _with_capacity(
    response: Response, request: Request, capacities: Sequence[Capacity], direction: str
) -> Response:
    detail = capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = [
            capacity.document(detail, direction) for capacity in capacities
        ]
    return response


async def transact_get_items(context: Context, request: Request) -> Response:
    """Return the items as they were at one moment."""
    gets = [_Get(member["Get"]) for member in request["TransactItems"]]
    tables = [
        await context.catalog.table(context.account, context.region, get.request["TableName"])
        for get in gets
    ]
    keys = _bind_all(gets, tables)
    _check_distinct(keys)
    rows = await context.engine.read(keys)
    if sum(row_size(row) for row in rows if row is not None) > TRANSACTION_BYTES_MAX:
        raise ValidationException(_TOO_LARGE)
    response = _report_reads(request, tables, rows)
    response["Responses"] = [
        {} if row is None else {"Item": get.shown(row)} for get, row in zip(gets, rows, strict=True)
    ]
    return response
