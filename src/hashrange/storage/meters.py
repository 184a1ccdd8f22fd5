"""The meters of all tables of a process, made from catalog records and kept while they change.

A meter survives changes of its table, with its unused capacity. In mode "provisioned" there are
meters for provisioned capacity and configured maxima only; in mode "aws" every table has one, with
the ceilings of key ranges, accounts and growth.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Literal, final

from hashrange.capacity.buckets import ALONE, Shared, Totals
from hashrange.capacity.stores import CapacityStore, Ceilings, Provided
from hashrange.capacity.table_meters import TableMeter
from hashrange.clock import Clock
from hashrange.model.records import IndexRecord, TableRecord
from hashrange.model.schema import Table

Mode = Literal["off", "provisioned", "aws"]

# Beyond this, the meters of the tables that were changed longest ago begin anew.
_METERS_MAX: Final = 10_000


@final
class Meters:
    """The meters of this process; `totals` tells what other processes take of the same tables."""

    def __init__(self, mode: Mode, clock: Clock, totals: Totals | None = None) -> None:
        self._ceilings = Ceilings() if mode == "aws" else None
        self._is_off = mode == "off"
        self._clock = clock
        self._totals = totals
        self._stores: OrderedDict[str, CapacityStore] = OrderedDict()

    def equip(self, table: Table, record: TableRecord) -> None:
        """Give a table its meter, if anything of it is limited."""
        if self._is_off:
            return
        store = self._store(record, None)
        indexes = {
            index.name: self._store(record, index)
            for index in record.indexes
            if index.is_global and index.gone_at is None
        }
        if self._ceilings is not None or any(
            each.is_limited for each in (store, *indexes.values())
        ):
            table.meter = TableMeter(store, indexes)

    def look(self) -> None:
        """See what other processes took; called now and then, also when nothing is requested."""
        now = self._clock.now()
        for store in self._stores.values():
            store.look(now)

    def _store(self, record: TableRecord, index: IndexRecord | None) -> CapacityStore:
        name = f"{record.id}/{'' if index is None else index.store}"
        provided = _provided(record, index)
        store = self._stores.get(name)
        now = self._clock.now()
        if store is None:
            sharing = ALONE if self._totals is None else Shared(self._totals, name)
            store = CapacityStore(provided, now, self._ceilings, sharing)
            self._stores[name] = store
            if len(self._stores) > _METERS_MAX:
                self._stores.popitem(last=False)
        else:
            self._stores.move_to_end(name)
            store.provide(provided, now)
        return store


def _provided(record: TableRecord, index: IndexRecord | None) -> Provided:
    """Return what a table or a global index provides."""
    source = record if index is None else index
    if not record.is_on_demand:
        throughput = source.throughput
        return Provided(float(throughput.read_units), float(throughput.write_units))
    maxima = source.on_demand or {}
    warm = source.warm or {}
    return Provided(
        _maximum(maxima.get("MaxReadRequestUnits")),
        _maximum(maxima.get("MaxWriteRequestUnits")),
        is_on_demand=True,
        warm_read=float(warm.get("ReadUnitsPerSecond", 0)),
        warm_write=float(warm.get("WriteUnitsPerSecond", 0)),
    )


def _maximum(units: int | None) -> float | None:
    """Return a configured maximum; -1 takes one away."""
    return None if units is None or units < 0 else float(units)
