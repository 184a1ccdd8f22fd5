"""UpdateTable: capacity, settings, and global indexes added, changed or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, final

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.closed_tables import check_open
from hashrange.api.tables.definition_checks import (
    INVALID,
    check_changeable,
    check_distinct_names,
    check_encryption,
    check_global_index,
    check_index_billing,
    check_index_count,
    check_offered,
    check_on_demand,
    check_projected,
    check_table_limit,
    check_throughput,
    check_warm,
)
from hashrange.api.tables.descriptions import describe, describe_projection, warm_throughput
from hashrange.api.tables.new_records import make_data_key, make_index, new_store
from hashrange.api.tables.stream_settings import change_stream, check_stream_update, choose_label
from hashrange.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.records import DataKey, IndexRecord, TableRecord, Throughput
from hashrange.storage.catalog import Delays, Edit, resolve_name, table_not_found

_SECONDS_PER_DAY: Final = 86_400
_FREE_DECREASES: Final = 4
_DECREASE_PAUSE_SECONDS: Final = 3600
_CHANGES: Final = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "TableClass",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "MultiRegionConsistency",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
    "VectorIndexUpdates",
)


async def update_table(scope: RequestScope, request: Request) -> Response:
    """Change a table; it is UPDATING in the answer, whatever the delays."""
    context = scope.context
    _check(request)
    name = resolve_name(context.account, context.region, request["TableName"])
    scope.touch_table(name)
    now = context.clock.now()
    # Names are chosen here, outside the decision, which has to be pure.
    stores = [
        new_store()
        for update in request.get("GlobalSecondaryIndexUpdates", ())
        if "Create" in update
    ]
    if stores or "SSESpecification" in request:
        await check_open(context, name)
    data_key = await make_data_key(context, name, request.get("SSESpecification"))
    stream = request.get("StreamSpecification")
    place = ("", "") if stream is None else (await choose_label(context, name, now), new_store())

    def update(record: TableRecord | None) -> Edit:
        if record is None:
            raise table_not_found(name)
        check_changeable(record, now)
        change = _Change(record, request, now, context.catalog.delays)
        change.settle_encryption(data_key)
        change.settle_capacity()
        change.settle_indexes(stores)
        change.settle_rest()
        if stream is not None:
            change_stream(record, stream, place, now, change.edit)
        return change.edit

    record = await context.catalog.change(context.account, context.region, name, update)
    assert isinstance(record, TableRecord)
    return {"TableDescription": await describe(context, record, now, "UPDATING")}


def _check(request: Request) -> None:
    """Check what can be checked without the table."""
    if not any(name in request for name in _CHANGES) or (
        request.get("GlobalSecondaryIndexUpdates") == []
        and sum(name in request for name in _CHANGES) == 1
    ):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )
    throughput = request.get("ProvisionedThroughput")
    if request.get("BillingMode") == "PROVISIONED" and throughput is None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
        )
    check_throughput(throughput)
    check_table_limit(throughput)
    _check_updates(request.get("GlobalSecondaryIndexUpdates", ()))
    check_encryption(request.get("SSESpecification"))
    check_stream_update(request)
    check_offered(request)


def _check_updates(updates: Sequence[dict[str, Any]]) -> None:
    names: set[str] = set()
    online = 0
    for update in updates:
        if not update:
            raise ValidationException(
                f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, "
                "GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(update) > 1:
            raise ValidationException(
                f"{INVALID}Only one of GlobalSecondaryIndexUpdate.Update, "
                "GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete can be given"
            )
        for kind, action in update.items():
            name = action["IndexName"]
            if name in names:
                raise ValidationException(
                    f"{INVALID}Only one global secondary index update per index is allowed "
                    f"simultaneously. Index: {name}"
                )
            names.add(name)
            online += kind != "Update"
    if online > 1:
        raise _online_limit()


def _online_limit() -> LimitExceededException:
    return LimitExceededException(
        "Subscriber limit exceeded: Only 1 online index can be created or deleted "
        "simultaneously per table"
    )


@final
class _Change:
    """A table record while the changes of a request are applied to it."""

    __slots__ = ("edit", "is_on_demand", "now", "record", "request", "seconds", "was_on_demand")

    def __init__(self, record: TableRecord, request: Request, now: float, delays: Delays) -> None:
        self.record = record
        self.request = request
        self.now = now
        self.seconds = delays
        self.was_on_demand = record.is_on_demand
        record.billing_mode = request.get("BillingMode", record.billing_mode)
        self.is_on_demand = record.is_on_demand
        record.updated_until = now + delays.update_seconds
        record.indexes = record.live_indexes(now)
        for throughput in (record.throughput, *(index.throughput for index in record.indexes)):
            throughput.before = None
        self.edit = Edit(record, outcome=record)

    def settle_encryption(self, data_key: DataKey | None) -> None:
        """Apply the server-side encryption setting; a background service seals the rows anew."""
        if "SSESpecification" not in self.request:
            return
        record = self.record
        if data_key is not None:
            record.data_keys.insert(0, data_key)
        record.encryption_key_arn = None if data_key is None else data_key.key_arn
        record.is_resealing = bool(record.data_keys)

    def settle_capacity(self) -> None:
        """Change billing mode and provisioned capacity of the table."""
        record = self.record
        throughput = self.request.get("ProvisionedThroughput")
        if throughput is not None and self.is_on_demand:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
                "BillingMode is PAY_PER_REQUEST"
            )
        if self.is_on_demand and not self.was_on_demand:
            record.on_demand_at = self.now
            record.throughput = _without_units(record.throughput)
            for index in record.indexes:
                index.throughput = _without_units(index.throughput)
        elif throughput is not None:
            self._set_throughput(record.throughput, throughput)
        if self.was_on_demand and not self.is_on_demand:
            # Maxima do not come back with the billing mode.
            record.on_demand = None
            for index in record.indexes:
                index.on_demand = None

    def _set_throughput(self, throughput: Throughput, asked: dict[str, int]) -> None:
        read_units = asked["ReadCapacityUnits"]
        write_units = asked["WriteCapacityUnits"]
        reads = read_units - throughput.read_units
        writes = write_units - throughput.write_units
        if not reads and not writes:
            raise ValidationException(
                "The provisioned throughput for the table will not change. The requested value "
                "equals the current value. Current ReadCapacityUnits provisioned for the table: "
                f"{read_units}. Requested ReadCapacityUnits: {read_units}. "
                "Current WriteCapacityUnits provisioned for the table: "
                f"{write_units}. Requested WriteCapacityUnits: {write_units}. "
                "Refer to the Amazon DynamoDB Developer Guide for current limits and how to "
                "request higher limits."
            )
        before = replace(throughput)
        done_at = self.record.updated_until
        if reads > 0 or writes > 0:
            before.increased_at = self.now
            throughput.increased_at = done_at
        if reads < 0 or writes < 0:
            _count_decrease(throughput, self.now)
            before.decreased_at = self.now
            throughput.decreased_at = done_at
        # A table that was on demand shows its new capacity at once.
        throughput.before = None if self.was_on_demand else before
        throughput.read_units = read_units
        throughput.write_units = write_units

    def settle_indexes(self, stores: Sequence[str]) -> None:
        """Update, create and delete global indexes; `stores` are for those created."""
        free_stores = iter(stores)
        priced: set[str] = set()
        for update in self.request.get("GlobalSecondaryIndexUpdates", ()):
            if "Update" in update:
                self._update_index(update["Update"], priced)
            if "Create" in update:
                self._create_index(update["Create"], next(free_stores))
            if "Delete" in update:
                self._delete_index(update["Delete"]["IndexName"])
        if self.was_on_demand and not self.is_on_demand:
            self._check_all_priced(priced)
        self._keep_used_attributes()

    def _find_index(self, name: str) -> IndexRecord:
        index = self.record.index(name)
        if index is None or not index.is_global:
            raise ResourceNotFoundException("Requested resource not found")
        return index

    def _update_index(self, action: dict[str, Any], priced: set[str]) -> None:
        index = self._find_index(action["IndexName"])
        throughput = action.get("ProvisionedThroughput")
        if throughput is not None:
            if self.is_on_demand:
                check_index_billing(action, is_on_demand=True)
            check_throughput(throughput)
            check_table_limit(throughput)
            self._set_throughput(index.throughput, throughput)
            priced.add(index.name)
        on_demand = action.get("OnDemandThroughput")
        check_on_demand(on_demand, is_on_demand=self.is_on_demand)
        if on_demand is not None:
            index.on_demand = (index.on_demand or {}) | on_demand
        warm = action.get("WarmThroughput")
        current = warm_throughput(index.warm, index.throughput, is_on_demand=self.is_on_demand)
        check_warm(warm, current, resource=f"index {index.name}")
        if warm is not None:
            index.warm = (index.warm or {}) | warm
        index.updated_until = self.record.updated_until

    def _create_index(self, action: dict[str, Any], store: str) -> None:
        record = self.record
        if record.index(action["IndexName"]) is not None:
            raise ValidationException("Attempting to create an index which already exists")
        self._check_no_other_online()
        definitions = self.request.get("AttributeDefinitions", ())
        names = [definition["AttributeName"] for definition in definitions]
        check_distinct_names(names)
        if len(action["KeySchema"]) > len(names):
            raise ValidationException(
                "Invalid KeySchema: Some index key attribute have no definition"
            )
        check_global_index(action, names)
        check_index_billing(action, is_on_demand=self.is_on_demand)
        self._define(definitions, {element["AttributeName"] for element in action["KeySchema"]})
        check_index_count(1 + sum(index.is_global for index in record.indexes))
        existing = [{"Projection": describe_projection(index)} for index in record.indexes]
        check_projected([action, *existing])
        index = make_index(action, record.shards, store, is_global=True)
        index.is_filled = False
        index.fill_at = self.now + self.seconds.index_seconds
        record.indexes.append(index)
        self.edit.creates += [index.store, record.fill_store(index)]
        self.edit.fills.append(index.name)

    def _check_no_other_online(self) -> None:
        for index in self.record.indexes:
            if not index.is_filled or index.gone_at is not None:
                raise _online_limit()

    def _define(self, definitions: Sequence[dict[str, str]], keys: set[str]) -> None:
        """Add the types of new attributes; `keys` are those that the new index uses.

        An attribute that is defined already keeps its type. A definition that says otherwise is
        refused if the new index needs it, and ignored if not.
        """
        types = self.record.attribute_types
        for definition in definitions:
            name, type = definition["AttributeName"], definition["AttributeType"]
            if types.setdefault(name, type) != type and name in keys:
                raise ValidationException(
                    "Attributes cannot be redefined. Please check that your attribute has the "
                    "same type as previously defined."
                )

    def _delete_index(self, name: str) -> None:
        record = self.record
        index = self._find_index(name)
        if self.now < index.fill_at:
            raise ResourceInUseException(
                "Attempt to change a resource which is still in use: "
                f"Index is being created: {name}"
            )
        if any(other.gone_at is not None for other in record.indexes):
            raise _online_limit()
        self.edit.drops += [index.store, record.fill_store(index)]
        self.edit.fills_ended.append(name)
        index.gone_at = self.now + self.seconds.index_seconds
        record.updated_until = max(record.updated_until, index.gone_at)
        if self.seconds.index_seconds <= 0:
            record.indexes.remove(index)

    def _check_all_priced(self, priced: set[str]) -> None:
        missing = [
            index.name
            for index in self.record.indexes
            if index.is_global
            and index.gone_at is None
            and not index.throughput.read_units
            and index.name not in priced
        ]
        if missing:
            raise ValidationException(
                f"{INVALID}ProvisionedThroughput must be specified for index: {','.join(missing)}"
            )

    def _keep_used_attributes(self) -> None:
        """Forget the types of attributes that are no key any more, or never were."""
        record = self.record
        used = {element["AttributeName"] for element in record.key_schema}
        for index in record.indexes:
            used.update(element["AttributeName"] for element in index.key_schema)
        types = record.attribute_types
        record.attribute_types = {name: types[name] for name in types if name in used}

    def settle_rest(self) -> None:
        """Apply table class, deletion protection, on-demand and warm throughput."""
        record = self.record
        request = self.request
        if "TableClass" in request:
            record.table_class = request["TableClass"]
            record.table_class_at = self.now
        if "DeletionProtectionEnabled" in request:
            record.is_protected = request["DeletionProtectionEnabled"]
        on_demand = request.get("OnDemandThroughput")
        check_on_demand(on_demand, is_on_demand=self.is_on_demand)
        if on_demand is not None:
            record.on_demand = (record.on_demand or {}) | on_demand
        warm = request.get("WarmThroughput")
        current = warm_throughput(record.warm, record.throughput, is_on_demand=self.is_on_demand)
        check_warm(warm, current, resource="table")
        if warm is not None:
            record.warm = (record.warm or {}) | warm


def _without_units(throughput: Throughput) -> Throughput:
    return replace(throughput, read_units=0, write_units=0)


def _count_decrease(throughput: Throughput, now: float) -> None:
    today = int(now // _SECONDS_PER_DAY)
    if throughput.decreases_day != today:
        throughput.decreases_day = today
        throughput.decreases = 0
    last = throughput.decreased_at
    if (
        throughput.decreases >= _FREE_DECREASES
        and last is not None
        and now - last < _DECREASE_PAUSE_SECONDS
    ):
        raise LimitExceededException(
            "Subscriber limit exceeded: Provisioned throughput decreases are limited within a "
            "given UTC day. After the first 4 decreases, each subsequent decrease in the same UTC "
            "day can be performed at most once every 3600 seconds. Number of decreases today: "
            f"{throughput.decreases}."
        )
    throughput.decreases += 1
    throughput.decreased_at = now
