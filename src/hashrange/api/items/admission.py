"""Admission of item reads and writes by the meters of their tables, and the charges afterwards.

Callers look at `table.meter` first: nothing here is called for a table without limits. A request is
admitted while there is capacity left, and charged when its units are known. The errors are those of
DynamoDB: one class per billing mode, with the reason and the ARN of the table or index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

from hashrange.api.scope import RequestScope
from hashrange.capacity.key_ranges import Position
from hashrange.capacity.table_meters import Pressure, TableMeter, Throttle
from hashrange.engine.base import PLACEMENT_BYTES, Changes
from hashrange.errors import (
    ClientError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    ThroughputError,
)
from hashrange.model.schema import Index, Table
from hashrange.storage.indexes import write_units
from hashrange.storage.layout import row_size
from hashrange.storage.writes import ItemOutcome, ItemWrite, PutWrite

_PLACEMENTS: Final = float(1 << 8 * PLACEMENT_BYTES)
# How much of a key counts when key ranges are split: enough to tell items apart, not to hoard.
_PLACE_BYTES_MAX: Final = 256

_TABLE_PROVISIONED: Final = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_INDEX_PROVISIONED: Final = (
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was exceeded. Consider increasing your provisioning level for the "
    "under-provisioned global secondary indexes with the UpdateTable API"
)
_TABLE_ON_DEMAND: Final = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
    "scaling your table or index so please try again shortly. If exceptions persist, check if you "
    "have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "bp-partition-key-design.html."
)
_INDEX_ON_DEMAND: Final = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB "
    "is automatically scaling your index so please try again shortly."
)
_MAXIMUM: Final = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
_QUOTA: Final = (
    "Throughput exceeds the current throughput limit for your account. To request a limit "
    "increase, contact AWS Support at https://aws.amazon.com/support"
)


def throughput_error(table: Table, throttle: Throttle) -> ThroughputError:
    """Return the error that a client gets for a throttled request."""
    index = throttle.index
    arn = table.arn if index is None else f"{table.arn}/index/{index}"
    reasons: list[dict[str, str]] = [{"reason": throttle.reason, "resource": arn}]
    error: ThroughputError
    if throttle.limit == "quota":
        error = RequestLimitExceeded(_QUOTA, {"ThrottlingReasons": reasons})
    elif not throttle.is_on_demand:
        text = _TABLE_PROVISIONED if index is None else _INDEX_PROVISIONED
        error = ProvisionedThroughputExceededException(text, {"ThrottlingReasons": reasons})
    else:
        text = _TABLE_ON_DEMAND if index is None else _INDEX_ON_DEMAND
        if throttle.limit == "maximum":
            text = _MAXIMUM
        # This one alone has a member that begins with a small letter.
        error = ThrottlingException(text, {"throttlingReasons": reasons})
    error.table, error.index, error.reason = table.name, index, throttle.reason
    return error


def _position(meter: TableMeter, table: Table, key: bytes) -> Position | None:
    """Return the position of a key, None where key ranges have no ceilings.

    An item collection under a local index stays together, so its items share a position.
    """
    if not meter.has_ranges:
        return None
    placement = int.from_bytes(key[:PLACEMENT_BYTES], "big") / _PLACEMENTS
    rest = b"" if table.local_indexes else key[PLACEMENT_BYTES:_PLACE_BYTES_MAX]
    return placement, rest


def refuse_read(
    scope: RequestScope, table: Table, index: Index | None, key: bytes
) -> ThroughputError | None:
    """Return the error of a read that is throttled; `key` is where it begins."""
    meter = table.meter
    if meter is None:
        return None
    name = None if index is None else index.name
    position = _position(meter, table, key)
    throttle = meter.refuse_read(name, position, scope.context.clock.now())
    return None if throttle is None else throughput_error(table, throttle)


def admit_read(scope: RequestScope, table: Table, index: Index | None, key: bytes) -> None:
    """Refuse a read that is throttled."""
    error = refuse_read(scope, table, index, key)
    if error is not None:
        raise error


def charge_read(
    scope: RequestScope, table: Table, index: Index | None, key: bytes, units: float
) -> None:
    """Charge a read, or a part of it, once its units are known."""
    meter = table.meter
    if meter is not None:
        name = None if index is None else index.name
        meter.charge_read(name, _position(meter, table, key), units, scope.context.clock.now())


def take_read(
    scope: RequestScope, table: Table, key: bytes, units: float
) -> ThroughputError | None:
    """Charge a read of one item whose units are known, or return the error if it is throttled."""
    error = refuse_read(scope, table, None, key)
    if error is None:
        charge_read(scope, table, None, key, units)
    return error


def note_throttled(scope: RequestScope, error: ClientError | None) -> None:
    """Note a throttled part of a request that is not refused as a whole."""
    if isinstance(error, ThroughputError):
        scope.note_throttle(error.table, error.reason, error.index)


def refuse_write(
    scope: RequestScope, write: ItemWrite, ahead: float = 0.0
) -> ThroughputError | None:
    """Return the error of a write that is throttled; `ahead` are units of writes before it.

    Which indexes a write changes is known when it is decided, so an index without capacity refuses
    it then.
    """
    meter = write.table.meter
    if meter is None:
        return None
    now = scope.context.clock.now()
    throttle = meter.refuse_write(_position(meter, write.table, write.key), now, ahead)
    if throttle is not None:
        return throughput_error(write.table, throttle)
    if meter.indexes:
        pressure = meter.pressure(now)
        write.pressure = None if pressure is None else _IndexPressure(write.table, meter, pressure)
    return None


def admit_write(scope: RequestScope, write: ItemWrite) -> None:
    """Refuse a write that is throttled."""
    error = refuse_write(scope, write)
    if error is not None:
        raise error


def refuse_writes(scope: RequestScope, writes: Sequence[ItemWrite]) -> list[ThroughputError | None]:
    """Return the errors of those of several writes that are throttled."""
    ahead: dict[str, float] = {}
    errors = []
    for write in writes:
        name = write.table.arn
        error = refuse_write(scope, write, ahead.get(name, 0.0))
        errors.append(error)
        if error is None and write.table.meter is not None:
            size = row_size(write.row) if isinstance(write, PutWrite) else 0
            ahead[name] = ahead.get(name, 0.0) + write_units(size)
    return errors


def charge_write(
    scope: RequestScope, write: ItemWrite, outcome: ItemOutcome, factor: int = 1
) -> None:
    """Charge a write and the index changes it brought; a failed condition is charged too."""
    table = write.table
    meter = table.meter
    if meter is None:
        return
    now = scope.context.clock.now()
    position = _position(meter, table, write.key)
    meter.charge_write(None, position, outcome.units * factor, now)
    for name, units in outcome.charges.items():
        key = outcome.index_keys.get(name)
        place = position if key is None else _position(meter, table, key)
        meter.charge_write(name, place, units, now)


@final
class _IndexPressure:
    """Refuses a write that changes an index without capacity."""

    __slots__ = ("_meter", "_pressure", "_table")

    def __init__(self, table: Table, meter: TableMeter, pressure: Pressure) -> None:
        self._table = table
        self._meter = meter
        self._pressure = pressure

    def check(self, charges: Mapping[str, int], changes: Changes) -> None:
        """Raise if an index does not take its share of the changes."""
        for name in charges:
            store = self._table.by_name[name].store
            keys = [key for place, _, key, _ in changes.puts if place == store]
            keys += [key for place, _, key in changes.deletes if place == store]
            for key in keys:
                position = _position(self._meter, self._table, key)
                throttle = self._pressure.refusal(name, position)
                if throttle is not None:
                    raise throughput_error(self._table, throttle)
