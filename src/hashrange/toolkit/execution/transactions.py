"""Transactions by design: the steps of a pattern, filled with the arguments of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from hashrange.toolkit.client.expressions import both
from hashrange.toolkit.client.operations import TableContext
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, Step, parameters_of
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.execution.items import key_of, stored_item
from hashrange.toolkit.execution.uniqueness import add_guard_changes
from hashrange.toolkit.execution.writes import Write, completed_update

Arguments = Mapping[str, Any]


def transaction_of(
    design: Design,
    pattern: AccessPattern,
    arguments: Arguments,
    context_of: Callable[[str, str], TableContext],
    now: datetime,
) -> Plan[None]:
    """Carry out the steps of a pattern; `context_of` knows the context of a table and an entity."""
    token = str(arguments.get("token", ""))
    first = design.entity(pattern.steps[0].entity)
    context = context_of(first.table, first.name)
    transaction = Transaction(token=token, policy=context.policy, floats=context.floats)
    for step in pattern.steps:
        entity = design.entity(step.entity)
        table = design.table(entity.table)
        write = Write(context_of(table.name, entity.name), table, entity, now)
        for values in _values(step, arguments, pattern):
            yield from _add_step(transaction, step, write, values)
    yield from transaction.plan()


def _values(step: Step, arguments: Arguments, pattern: AccessPattern) -> Iterator[Any]:
    """Yield the values of a step, once or for each element; records are passed as they are."""
    writes_record = step.action in ("create", "put")
    if step.each:
        for element in _argument(step.each, arguments, pattern):
            yield element if writes_record else {**arguments, **element}
    elif writes_record:
        yield _argument(step.record or step.entity, arguments, pattern)
    else:
        renamed = {
            name: arguments[parameter]
            for name, parameter in step.rename.items()
            if parameter in arguments
        }
        yield {**arguments, **renamed}


def _argument(name: str, arguments: Arguments, pattern: AccessPattern) -> Any:
    if name not in arguments:
        raise DesignError(f"{pattern.name} needs {name}")
    return arguments[name]


def _add_step(transaction: Transaction, step: Step, write: Write, values: Any) -> Plan[None]:
    table, name = write.table, write.context.table
    absent = f"attribute_not_exists(#{table.partition.name})"
    options: dict[str, Any] = {"message": step.message}
    if step.action in ("create", "put"):
        item = stored_item(write.entity, table, values, write.now)
        if write.entity.version:
            item[write.entity.version] = item.get(write.entity.version, 0) + 1
        condition = both(step.condition, absent if step.action == "create" else "")
        wire = yield from write.context.encode(item)
        transaction.put_wire(name, wire, condition=condition, values=item, **options)
        if step.action == "create":
            add_guard_changes(transaction, write.entity, table, {}, item, name=name)
        return
    key = key_of(write.entity, table, values)
    if step.action == "update":
        if write.context.codecs:
            raise DesignError(f"{write.entity.name} has codecs: its items are written whole")
        update, added = completed_update(write, step.update, values, upsert=False)
        condition = both(f"attribute_exists(#{table.partition.name})", step.condition)
        given = _given(values, update, condition)
        transaction.update(
            name, key, update, condition=condition, values={**given, **added}, **options
        )
        return
    options["values"] = _given(values, step.condition)
    options["condition"] = step.condition
    if step.action == "delete":
        transaction.delete(name, key, **options)
    else:
        transaction.check(name, key, **options)


def _given(values: Arguments, *expressions: str) -> dict[str, Any]:
    return {name: values[name] for name in parameters_of(*expressions) if name in values}
