"""The steps of a transaction that item actions and PartiQL statements share.

If one part fails, the transaction is cancelled, with a reason for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

from hashrange.api.items.admission import (
    charge_read,
    charge_write,
    note_throttled,
    refuse_read,
    refuse_writes,
)
from hashrange.api.items.consumed_capacity import (
    Capacity,
    capacity_detail,
    collection_metrics,
    read_units,
    wants_collection_metrics,
)
from hashrange.api.items.item_writes import sign_writes
from hashrange.api.items.write_refusals import CONDITION_FAILED
from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.engine.base import STRONG, RowKey
from hashrange.errors import (
    ConflictError,
    ProvisionedThroughputExceededException,
    ThroughputError,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.limits import TRANSACTION_BYTES_MAX
from hashrange.model.schema import Table
from hashrange.pauses import Pace
from hashrange.storage.items import read_items
from hashrange.storage.layout import row_size, splice
from hashrange.storage.lock_steps import Outcome
from hashrange.storage.tokens import TokenCheck
from hashrange.storage.transactions import read_transaction, transact
from hashrange.storage.writes import CheckWrite, ItemOutcome, ItemWrite

_SEVERAL: Final = "Transaction request cannot include multiple operations on one item"
_NO_REASON: Final = {"Code": "None"}
_CONFLICT: Final = {
    "Code": "TransactionConflict",
    "Message": "Transaction is ongoing for the item",
}

Reason = dict[str, Any]
_Bound = TypeVar("_Bound", covariant=True)


class Part(Protocol[_Bound]):
    """A part of a transaction that is not yet bound to its table."""

    def bind(self, table: Table) -> _Bound: ...


async def bind_all(parts: Sequence[Part[_Bound]], tables: Sequence[Table]) -> list[_Bound]:
    """Bind every part to its table; the first that fails cancels the transaction."""
    bound: list[_Bound] = []
    pace = Pace()
    for part, table in zip(parts, tables, strict=True):
        try:
            bound.append(part.bind(table))
        except ValidationException as error:
            reasons = [_NO_REASON] * len(parts)
            reasons[len(bound)] = _validation_error(error)
            raise _cancelled(reasons) from None
        if pace.is_over():
            await pace.pause()
    return bound


def check_total(sizes: Iterable[int]) -> None:
    """Refuse a transaction that is too large; the message has the size that exceeded the limit."""
    total = 0
    for size in sizes:
        total += size
        if total > TRANSACTION_BYTES_MAX:
            raise ValidationException(
                f"Transaction payload size cannot exceed 4MB. Payload Size: {total}"
            )


def check_distinct(keys: Sequence[RowKey]) -> None:
    """Refuse a transaction with two parts on one item."""
    if len(set(keys)) != len(keys):
        raise ValidationException(_SEVERAL)


async def write_all(
    scope: RequestScope, request: Request, writes: Sequence[ItemWrite], *, content: object
) -> list[Outcome] | None:
    """Carry out writes together; return their outcomes, or None for a repeated request.

    `content` is the request that a client token identifies.
    """
    context = scope.context
    check_distinct([write.row_key for write in writes])
    sign_writes(scope, writes)
    if scope.is_bulky:
        for write in writes:
            write.is_bulky = True
    now = context.clock.now()
    token = None
    if request.get("ClientRequestToken") is not None:
        name = f"{context.account}/{context.region}/{request['ClientRequestToken']}"
        token = TokenCheck(name, content, now)
    _cancel_throttled(scope, refuse_writes(scope, writes))
    try:
        outcomes = await transact(context.engine, context.catalog, writes, token, now)
    except ConflictError as error:
        for write in writes:
            scope.note_conflict(write.table.name)
        raise _cancelled([_CONFLICT for _ in writes]) from error
    for write, outcome in zip(writes, outcomes or (), strict=False):
        if isinstance(outcome, ThroughputError):
            note_throttled(scope, outcome)
        elif not isinstance(outcome, (ItemOutcome, ValidationException)):
            scope.note_conflict(write.table.name)
    return outcomes


async def read_all(
    scope: RequestScope, tables: Sequence[Table], keys: Sequence[RowKey]
) -> list[bytes | None]:
    """Return the rows of items as they were at one moment."""
    context = scope.context
    check_distinct(keys)
    _cancel_throttled(
        scope,
        [refuse_read(scope, table, None, key[2]) for table, key in zip(tables, keys, strict=True)],
    )
    try:
        rows = await read_transaction(context.engine, tables, keys, context.clock.now())
    except ConflictError as error:
        for table in tables:
            scope.note_conflict(table.name)
        raise _cancelled([_CONFLICT for _ in keys]) from error
    check_total(row_size(row) for row in rows if row is not None)
    return rows


def _cancel_throttled(scope: RequestScope, errors: Sequence[ThroughputError | None]) -> None:
    """Cancel a transaction of which a part is throttled."""
    if any(errors):
        for error in errors:
            note_throttled(scope, error)
        raise _cancelled([_NO_REASON if error is None else _throttled(error) for error in errors])


def _throttled(error: ThroughputError) -> Reason:
    is_provisioned = isinstance(error, ProvisionedThroughputExceededException)
    code = "ProvisionedThroughputExceeded" if is_provisioned else "ThrottlingError"
    return {"Code": code, "Message": error.message}


def failure_reason(request: Request, outcome: Outcome) -> Reason:
    """Return why a write cancels its transaction, if it does; `request` is its part of it."""
    if isinstance(outcome, ValidationException):
        return _validation_error(outcome)
    if isinstance(outcome, ThroughputError):
        return _throttled(outcome)
    if not isinstance(outcome, ItemOutcome):
        return _CONFLICT
    if outcome.matched:
        return _NO_REASON
    reason: Reason = {"Code": "ConditionalCheckFailed", "Message": CONDITION_FAILED}
    wanted = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    if wanted and outcome.old is not None:
        reason["Item"] = splice(outcome.old)
    return reason


def _validation_error(error: ValidationException) -> Reason:
    return {"Code": "ValidationError", "Message": error.message}


def cancel_if_any(reasons: Sequence[Reason]) -> None:
    """Raise the cancellation of a transaction if one of its parts has a reason for it."""
    if any(reason is not _NO_REASON for reason in reasons):
        raise _cancelled(reasons)


def _cancelled(reasons: Sequence[Reason]) -> TransactionCanceledException:
    codes = ", ".join(reason["Code"] for reason in reasons)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        {"CancellationReasons": list(reasons)},
    )


def report_writes(
    scope: RequestScope,
    request: Request,
    writes: Sequence[ItemWrite],
    outcomes: Sequence[Outcome],
) -> Response:
    """Note what the writes of a transaction consumed, and return it if the request asks for it."""
    capacities: dict[str, Capacity] = {}
    metrics: dict[str, list[Any]] = {}
    for write, outcome in zip(writes, outcomes, strict=True):
        assert isinstance(outcome, ItemOutcome)
        name = write.table.name
        charge_write(scope, write, outcome, factor=2)
        capacities.setdefault(name, Capacity(write.table)).charge_write(outcome, factor=2)
        if write.table.local_indexes and not isinstance(write, CheckWrite):
            metrics.setdefault(name, []).append(collection_metrics(write, outcome))
    for capacity in capacities.values():
        capacity.note_writes(scope)
    response = _with_capacity({}, request, list(capacities.values()), "Write")
    if metrics and wants_collection_metrics(request):
        response["ItemCollectionMetrics"] = metrics
    return response


async def report_repeat(
    scope: RequestScope, request: Request, writes: Sequence[ItemWrite]
) -> Response:
    """Answer a request that was carried out before: it only reads the items."""
    keys = [write.row_key for write in writes]
    rows = await read_items(scope.context.engine, keys, STRONG)
    return report_reads(scope, request, [write.table for write in writes], keys, rows)


def report_reads(
    scope: RequestScope,
    request: Request,
    tables: Sequence[Table],
    keys: Sequence[RowKey],
    rows: Sequence[bytes | None],
) -> Response:
    """Note what the reads of a transaction consumed, and return it if the request asks for it."""
    capacities: dict[str, Capacity] = {}
    for table, key, row in zip(tables, keys, rows, strict=True):
        size = 0 if row is None else row_size(row)
        capacity = capacities.setdefault(table.name, Capacity(table))
        units = 2 * read_units(size, consistent=True)
        capacity.table_units += units
        charge_read(scope, table, None, key[2], units)
        if row is not None:
            scope.note_rows(1, size, 1, size)
    for capacity in capacities.values():
        capacity.note_reads(scope)
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
