"""BatchGetItem and BatchWriteItem: many items, possibly of many tables, in one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hashrange.api.items.admission import (
    charge_write,
    note_throttled,
    refuse_writes,
    take_read,
)
from hashrange.api.items.arguments import check_batch_mixture, read_get_arguments
from hashrange.api.items.consumed_capacity import (
    Capacity,
    capacity_detail,
    collection_metrics,
    read_units,
    wants_collection_metrics,
)
from hashrange.api.items.item_writes import check_put, make_delete, make_put, sign_writes
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.keys import check_batch_put, request_key
from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.engine.base import RowKey
from hashrange.errors import ClientError, ThroughputError, ValidationException
from hashrange.expressions.projections import Projection
from hashrange.limits import BATCH_GET_KEYS_MAX, BATCH_GET_RESPONSE_BYTES_MAX, READ_UNIT_BYTES
from hashrange.model.keys import plain_key
from hashrange.model.schema import Table
from hashrange.model.values import BARE, OLDER, Item, check_item
from hashrange.pauses import LONG_WORK_BYTES, Pace, off_loop
from hashrange.storage.items import consistency_of, item_row, project, read_items
from hashrange.storage.layout import splice, unpack_size
from hashrange.storage.transactions import write_batch
from hashrange.storage.writes import ItemOutcome, ItemWrite, PutWrite

# Items that are read before anything is known about their sizes.
_FIRST_ROWS: Final = 4
_DUPLICATES = "Provided list of item keys contains duplicates"


@final
class _TableGet:
    """The part of a BatchGetItem that concerns one table, and what has come of it."""

    __slots__ = (
        "_known",
        "_plain",
        "capacity",
        "consistent",
        "items",
        "keys",
        "left",
        "name",
        "projection",
        "request",
        "table",
    )

    def __init__(self, name: str, request: Request, known: Table | None) -> None:
        self.name = name
        self.request = request
        self._known = known
        self._plain = None if known is None else _plain_rows(known, request["Keys"])
        if self._plain is None:
            for key in request["Keys"]:
                check_item(key, BARE)
        self.projection: Projection | None = read_get_arguments(request)
        self.consistent: bool = request.get("ConsistentRead", False)
        self.table: Table
        self.keys: list[RowKey]
        self.capacity: Capacity
        self.items: list[Any] = []
        # The keys that the client has to ask for again.
        self.left: list[Item] = []

    def bind(self, table: Table) -> None:
        self.table = table
        self.capacity = Capacity(table)
        if self._plain is not None and table is self._known:
            self.keys = self._plain
        else:
            self.keys = [item_row(table, request_key(table, key)) for key in self.request["Keys"]]
        if len(set(self.keys)) != len(self.keys):
            raise ValidationException(_DUPLICATES)
        check_paths(table, self.projection)


def _plain_rows(table: Table, keys: Sequence[Item]) -> list[RowKey] | None:
    """Return where items are, if all keys are plain, which need no checks."""
    rows: list[RowKey] = []
    for key in keys:
        encoded = plain_key(table, key) if len(key) == len(table.parts) else None
        if encoded is None:
            return None
        rows.append(item_row(table, encoded))
    return rows


async def _read_parts(scope: RequestScope, request: Request) -> list[_TableGet]:
    """Return the parts of a BatchGetItem, checked and bound to their tables."""
    if sum(len(part["Keys"]) for part in request["RequestItems"].values()) > BATCH_GET_KEYS_MAX:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    check_batch_mixture(request["RequestItems"].values())
    known_table = scope.context.known_table
    parts: list[_TableGet] = []
    for name, part in request["RequestItems"].items():
        if scope.is_bulky:
            parts.append(await off_loop(_TableGet, name, part, known_table(name)))
        else:
            parts.append(_TableGet(name, part, known_table(name)))
    for table_get in parts:
        table_get.bind(await scope.table(table_get.name))
    return parts


@final
class _Progress:
    """What a BatchGetItem has done so far, and how much still fits in its response."""

    __slots__ = ("accepted", "is_long", "pace", "refusals", "room")

    def __init__(self) -> None:
        self.accepted = 0
        # Whether it has waited for its turn among the requests that work for long.
        self.is_long = False
        self.pace = Pace()
        self.refusals: list[ThroughputError] = []
        # In bytes; negative once an item did not fit.
        self.room = BATCH_GET_RESPONSE_BYTES_MAX


async def batch_get_item(scope: RequestScope, request: Request) -> Response:
    """Return the items that exist, as many as fit in one response."""
    parts = await _read_parts(scope, request)
    response: Response = {"Responses": {}, "UnprocessedKeys": {}}
    capacities: list[Capacity] = []
    progress = _Progress()
    for part in parts:
        await _get_items(scope, part, progress)
        if part.left:
            response["UnprocessedKeys"][part.name] = {**part.request, "Keys": part.left}
        response["Responses"][part.name] = part.items
        part.capacity.note_reads(scope)
        capacities.append(part.capacity)
    _settle_throttled(scope, progress.refusals, progress.accepted)
    return _with_capacity(response, request, capacities)


async def _get_items(scope: RequestScope, part: _TableGet, progress: _Progress) -> None:
    """Read the items of one table, as many as fit."""
    consistency = consistency_of(part.consistent)
    position, at_once = 0, _FIRST_ROWS
    while position < len(part.keys) and progress.room >= 0:
        # Not all at once, because large ones may not fit in the response.
        keys = part.keys[position : position + at_once]
        rows = await read_items(scope.context.engine, keys, consistency)
        read_bytes = sum([len(row) for row in rows if row is not None])
        if read_bytes > LONG_WORK_BYTES and not progress.is_long:
            # Many such requests must not all hold large rows while one goes on after the other.
            progress.is_long = True
            del rows
            await progress.pace.pause()
            rows = await read_items(scope.context.engine, keys, consistency)
        at_once = max(1, min(at_once * 8, LONG_WORK_BYTES * len(rows) // (read_bytes + 1)))
        if progress.pace.is_over():
            await progress.pace.pause()
        position += await _take_rows(scope, part, position, rows, progress)
    part.left += part.request["Keys"][position:]


async def _take_rows(
    scope: RequestScope,
    part: _TableGet,
    position: int,
    rows: Sequence[bytes | None],
    progress: _Progress,
) -> int:
    """Add rows from a position on to the response; return how many were settled.

    That is all of them, unless one does not fit. Throttled ones are left to the client.
    """
    meter, projection, pace = part.table.meter, part.projection, progress.pace
    smallest_units = read_units(0, consistent=part.consistent)
    room, part_units, kept_bytes, kept = progress.room, 0.0, 0, len(part.items)
    count = refused = 0
    for row in rows:
        size = bulk = 0
        if row is not None:
            size = unpack_size(row)[0]
            bulk = max(size, len(row) // 2)
            # Copying a row takes no time, unless it is large.
            if len(row) > LONG_WORK_BYTES or (projection is not None and pace.is_over()):
                await pace.pause()
        if bulk > room:
            room = -1
            break
        units = smallest_units
        if size > READ_UNIT_BYTES:
            units = read_units(size, consistent=part.consistent)
        count += 1
        if meter is not None:
            refusal = take_read(scope, part.table, part.keys[position + count - 1][2], units)
            if refusal is not None:
                refused += 1
                progress.refusals.append(refusal)
                part.left.append(part.request["Keys"][position + count - 1])
                continue
        room -= bulk
        part_units += units
        if row is not None:
            part.items.append(splice(row) if projection is None else project(row, projection))
            kept_bytes += size
    progress.room = room
    progress.accepted += count - refused
    part.capacity.table_units += part_units
    kept = len(part.items) - kept
    scope.note_rows(kept, kept_bytes, kept, kept_bytes)
    return count


def _settle_throttled(
    scope: RequestScope, refusals: Sequence[ThroughputError], accepted: int
) -> None:
    """Refuse a batch of which every part was throttled; note the parts that were otherwise."""
    if refusals and not accepted:
        for refusal in refusals[1:]:
            note_throttled(scope, refusal)
        raise refusals[0]
    for refusal in refusals:
        note_throttled(scope, refusal)


async def batch_write_item(scope: RequestScope, request: Request) -> Response:
    """Put and delete items, each by itself."""
    pace = Pace()
    checked: list[tuple[str, list[tuple[Item, int | None]]]] = []
    for name, parts in request["RequestItems"].items():
        if scope.is_bulky:
            checked.append((name, await off_loop(_check_requests, parts)))
        else:
            checked.append((name, _check_requests(parts)))
        if pace.is_over():
            await pace.pause()
    writes: list[ItemWrite] = []
    for name, items in checked:
        table = await scope.table(name)
        table_writes: list[ItemWrite] = []
        for item, size in items:
            table_writes.append(
                make_delete(table, item, None) if size is None else _make_put(table, item, size)
            )
            if pace.is_over():
                await pace.pause()
        if len({write.key for write in table_writes}) != len(table_writes):
            raise ValidationException(_DUPLICATES)
        writes.extend(table_writes)
    outcomes = await _write_admitted(scope, writes)
    requests = [(name, part) for name, parts in request["RequestItems"].items() for part in parts]
    response: Response = {"UnprocessedItems": {}}
    capacities: dict[str, Capacity] = {}
    metrics: dict[str, list[Any]] = {}
    for write, outcome, (key, part) in zip(writes, outcomes, requests, strict=True):
        if not isinstance(outcome, ItemOutcome):
            response["UnprocessedItems"].setdefault(key, []).append(part)
            continue
        name = write.table.name
        charge_write(scope, write, outcome)
        capacities.setdefault(name, Capacity(write.table)).charge_write(outcome)
        if write.table.local_indexes:
            metrics.setdefault(name, []).append(collection_metrics(write, outcome))
    for capacity in capacities.values():
        capacity.note_writes(scope)
    if metrics and wants_collection_metrics(request):
        response["ItemCollectionMetrics"] = metrics
    return _with_capacity(response, request, list(capacities.values()))


async def _write_admitted(
    scope: RequestScope, writes: Sequence[ItemWrite]
) -> list[ItemOutcome | ClientError]:
    """Carry out the writes that are not throttled; the outcome of the others is their error."""
    context = scope.context
    sign_writes(scope, writes)
    found: list[ItemOutcome | ClientError | None] = [None] * len(writes)
    if any(write.table.meter is not None for write in writes):
        found[:] = refuse_writes(scope, writes)
    admitted = [write for write, error in zip(writes, found, strict=True) if error is None]
    done: list[ItemOutcome | ClientError] = []
    if admitted:
        done = await write_batch(context.engine, admitted, context.clock.now())
    rest = iter(done)
    outcomes = [next(rest) if error is None else error for error in found]
    refusals = [outcome for outcome in outcomes if isinstance(outcome, ThroughputError)]
    _settle_throttled(scope, refusals, len(outcomes) - len(refusals))
    return outcomes


def _make_put(table: Table, item: Item, size: int) -> PutWrite:
    check_batch_put(table, item)
    return make_put(table, item, size, None)


def _check_requests(parts: Sequence[Request]) -> list[tuple[Item, int | None]]:
    return [_check_request(part) for part in parts]


def _check_request(part: Request) -> tuple[Item, int | None]:
    """Return the item to put with its size, or the key to delete with None."""
    put, delete = part.get("PutRequest"), part.get("DeleteRequest")
    if (put is None) == (delete is None):
        raise ValidationException(
            "Supplied AttributeValue has more than one datatypes set, "
            "must contain exactly one of the supported datatypes"
            if put is not None
            else "Supplied AttributeValue is empty, must contain exactly one of the supported "
            "datatypes"
        )
    if put is not None:
        return put["Item"], check_put(put["Item"], OLDER)
    assert delete is not None
    check_item(delete["Key"], OLDER)
    return delete["Key"], None


def _with_capacity(response: Response, request: Request, capacities: list[Capacity]) -> Response:
    detail = capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = [capacity.document(detail) for capacity in capacities]
    return response
