"""Writes of single items by design, with versions, timestamps and unique values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hashrange.toolkit.client import operations
from hashrange.toolkit.client.expressions import both
from hashrange.toolkit.client.operations import TableContext
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.design.templates import iso_text
from hashrange.toolkit.design.updates import (
    assignments_of,
    dependent_keys,
    removed_by,
    with_remove,
    with_set,
)
from hashrange.toolkit.errors import (
    AlreadyExists,
    CancellationReason,
    ConditionFailed,
    NotFound,
    TransactionFailed,
    VersionConflict,
)
from hashrange.toolkit.execution.items import fields_of_item, key_of, stored_item
from hashrange.toolkit.execution.uniqueness import add_guard_changes, taken_value, unchanged

Arguments = Mapping[str, Any]
Stored = dict[str, Any]


class Write:
    """A write to one item of an entity: where it goes and when it happens."""

    def __init__(
        self, context: TableContext, table: Table, entity: Entity[Any], now: datetime
    ) -> None:
        self.context = context
        self.table = table
        self.entity = entity
        self.now = now

    def create(self, record: Any) -> Plan[Stored]:
        """Write a record that must not exist."""
        item = stored_item(self.entity, self.table, record, self.now)
        if self.entity.version:
            item[self.entity.version] = 1
        absent = f"attribute_not_exists(#{self.table.partition.name})"
        yield from self._store(item, {}, absent, {}, is_new=True)
        return item

    def put(self, record: Any, condition: str, arguments: Arguments) -> Plan[Stored]:
        """Write a record over the one that may be there; with a version, only over that one.

        The parameters of the condition that are not given are the attributes of the record.
        """
        item = stored_item(self.entity, self.table, record, self.now)
        version = self.entity.version
        values = {**item, **arguments}
        if version and not item.get(version):
            return (yield from self.create(record))
        if version:
            condition = both(condition, f"#{version} = :toolkit_version")
            values["toolkit_version"] = item[version]
            item[version] += 1
        before: Stored = {}
        if self.entity.unique:
            before = (yield from self._read(item)) or {}
            kept, was = unchanged(self.entity, before)
            condition, values = both(condition, kept), {**values, **was}
        yield from self._store(item, before, condition, values, is_new=False)
        return item

    def delete(self, condition: str, arguments: Arguments) -> Plan[Stored | None]:
        """Delete an item; return it, or None if there was none."""
        key = key_of(self.entity, self.table, arguments)
        condition, values = self._versioned(condition, arguments)
        if not self.entity.unique:
            try:
                return (
                    yield from operations.delete(
                        self.context, key, condition=condition, values=values
                    )
                )
            except ConditionFailed as error:
                raise self._meaning(error, arguments) from error
        before = yield from operations.get(self.context, key, consistent=True)
        if before is None:
            return None
        kept, was = unchanged(self.entity, before)
        transaction = self._transaction()
        transaction.delete(
            self.context.table, key, condition=both(condition, kept), values={**values, **was}
        )
        about = self._guards(transaction, before, {})
        yield from self._commit(transaction, about, before, values)
        return before

    def update(self, pattern: AccessPattern, arguments: Arguments) -> Plan[Stored]:
        """Update an item by the pattern's expression; return it as it is now."""
        key = key_of(self.entity, self.table, arguments)
        update, added = completed_update(self, pattern.update, arguments, upsert=pattern.upsert)
        condition, values = self._versioned(pattern.condition, arguments)
        values = {**values, **added}
        if not pattern.upsert:
            condition = both(f"attribute_exists(#{self.table.partition.name})", condition)
        changed = set(assignments_of(update)) | removed_by(update)
        if not changed & set(self.entity.unique):
            try:
                return (
                    yield from operations.update(
                        self.context, key, update, condition=condition, values=values
                    )
                )
            except ConditionFailed as error:
                raise self._meaning(error, arguments) from error
        return (yield from self._update_unique(key, update, condition, values))

    def _update_unique(
        self, key: Stored, update: str, condition: str, values: dict[str, Any]
    ) -> Plan[Stored]:
        before = yield from operations.get(self.context, key, consistent=True)
        if before is None:
            raise NotFound(f"there is no such {self.entity.name}")
        after = dict(before)
        for attribute, parameter in assignments_of(update).items():
            after[attribute] = values.get(parameter)
        for attribute in removed_by(update):
            after.pop(attribute, None)
        kept, was = unchanged(self.entity, before)
        transaction = self._transaction()
        transaction.update(
            self.context.table,
            key,
            update,
            condition=both(condition, kept),
            values={**values, **was},
        )
        about = self._guards(transaction, before, after)
        yield from self._commit(transaction, about, before, values)
        found = yield from operations.get(self.context, key, consistent=True)
        return found or after

    def _store(
        self, item: Stored, before: Stored, condition: str, values: Stored, *, is_new: bool
    ) -> Plan[None]:
        if not self.entity.unique:
            try:
                yield from operations.put(self.context, item, condition=condition, values=values)
            except ConditionFailed as error:
                if is_new:
                    message = f"there is such a {self.entity.name} already"
                    raise AlreadyExists(message, error.item) from error
                raise self._meaning(error, values) from error
            return
        wire = yield from self.context.encode(item)
        transaction = self._transaction()
        transaction.put_wire(self.context.table, wire, condition=condition, values=values)
        about = self._guards(transaction, before, item)
        yield from self._commit(transaction, about, None if is_new else before, values)

    def _read(self, item: Stored) -> Plan[Stored | None]:
        key = {each.name: item[each.name] for each in self.table.key_attributes}
        return operations.get(self.context, key, consistent=True)

    def _transaction(self) -> Transaction:
        return Transaction(policy=self.context.policy, floats=self.context.floats)

    def _guards(self, transaction: Transaction, before: Stored, after: Stored) -> list[str]:
        return add_guard_changes(
            transaction, self.entity, self.table, before, after, name=self.context.table
        )

    def _commit(
        self, transaction: Transaction, about: list[str], before: Stored | None, values: Arguments
    ) -> Plan[None]:
        """Carry out a transaction of an item and its guards; `before` is None for a new item."""
        try:
            yield from transaction.plan()
        except TransactionFailed as failure:
            taken = taken_value(failure, about)
            if taken is not None:
                raise taken from failure
            reason = failure.reason_of(0)
            if reason is None or reason.code != "ConditionalCheckFailed":
                raise
            raise self._refusal(reason, before, values) from failure

    def _refusal(
        self, reason: CancellationReason, before: Stored | None, values: Arguments
    ) -> Exception:
        """Return why the item itself could not be written."""
        if before is None:
            return AlreadyExists(f"there is such a {self.entity.name} already", reason.item)
        item = reason.item or {}
        if any(item.get(name) != before.get(name) for name in self.entity.unique):
            return VersionConflict(f"the {self.entity.name} changed meanwhile", reason.item)
        return self._meaning(ConditionFailed(reason.message, reason.item), values)

    def _versioned(self, condition: str, arguments: Arguments) -> tuple[str, dict[str, Any]]:
        """Return condition and values with the version added, if the caller gave one."""
        version, values = self.entity.version, dict(arguments)
        if not version or arguments.get(version) is None:
            return condition, values
        values["toolkit_version"] = arguments[version]
        return both(condition, f"#{version} = :toolkit_version"), values

    def _meaning(self, error: ConditionFailed, arguments: Arguments) -> Exception:
        """Return what a failed condition means, told by the item that was there."""
        if error.item is None:
            return NotFound(f"there is no such {self.entity.name}")
        version = self.entity.version
        expected = arguments.get("toolkit_version", arguments.get(version))
        if version and expected is not None and error.item.get(version) != expected:
            message = (
                f"the {self.entity.name} has version {error.item.get(version)}, not {expected}"
            )
            return VersionConflict(message, error.item)
        return error


def completed_update(
    write: Write, update: str, arguments: Arguments, *, upsert: bool
) -> tuple[str, dict[str, Any]]:
    """Return an update with what the toolkit adds to it, and the values of the additions.

    Index keys follow the attributes they are made from. The version grows, the time of the update
    is noted, and an upsert says what it has created.
    """
    entity, table = write.entity, write.table
    values: dict[str, Any] = {}
    fields = dict(arguments)
    for attribute, parameter in assignments_of(update).items():
        fields[attribute] = arguments.get(parameter)
    additions: list[str] = []
    removals: list[str] = []
    for name, template in dependent_keys(entity, table, update):
        if removed_by(update) & set(template):
            removals.append(name)
        else:
            additions.append(f"#{name} = :toolkit_{name}")
            values[f"toolkit_{name}"] = entity.required_template(name).render(fields)
    if entity.version:
        additions.append(
            f"#{entity.version} = if_not_exists(#{entity.version}, :toolkit_0) + :toolkit_1"
        )
        values.update(toolkit_0=0, toolkit_1=1)
    if entity.updated:
        additions.append(f"#{entity.updated} = :toolkit_now")
        values["toolkit_now"] = iso_text(write.now)
    if upsert:
        for name, value in created_attributes(entity, table, arguments).items():
            additions.append(f"#{name} = if_not_exists(#{name}, :toolkit_new_{name})")
            values[f"toolkit_new_{name}"] = value
    if additions:
        update = with_set(update, ", ".join(additions))
    if removals:
        update = with_remove(update, ", ".join(f"#{name}" for name in removals))
    return update, values


def created_attributes(entity: Entity[Any], table: Table, arguments: Arguments) -> dict[str, Any]:
    """Return what an upsert must say of an item it may create: its entity and its key fields."""
    keys = key_of(entity, table, arguments)
    fields = fields_of_item(entity, table, keys)
    given = {name: arguments[name] for name in fields if name in arguments and name not in keys}
    return {table.entity_attribute: entity.label_text, **given} if table.entity_attribute else given
