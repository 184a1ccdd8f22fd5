"""Unique attributes: a guard item for each value, written in the transaction of the item.

The guard of `email = a@b` of entity `user` has the key `UNIQUE#user#email#a@b`, in all key
attributes of the table. Two items cannot have the same guard, so they cannot have the same value.
To change or delete an item, its present values are read first, and the transaction requires that
they are still the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.errors import NotUnique, TransactionFailed

GUARD_PREFIX = "UNIQUE#"


def guard_key(entity: Entity[Any], table: Table, attribute: str, value: Any) -> dict[str, Any]:
    """Return the key of the guard item of a value."""
    text = f"{GUARD_PREFIX}{entity.name}#{attribute}#{value}"
    return {key.name: text for key in table.key_attributes}


def is_guard(table: Table, item: Mapping[str, Any]) -> bool:
    """Tell whether an item is a guard."""
    return str(item.get(table.partition.name, "")).startswith(GUARD_PREFIX)


def add_guard_changes(
    transaction: Transaction,
    entity: Entity[Any],
    table: Table,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    name: str,
) -> list[str]:
    """Add the steps that move the guards from old values to new ones.

    `name` is what the table is called at the service. Returns the attribute each step is about.
    """
    about: list[str] = []
    for attribute in entity.unique:
        old, new = before.get(attribute), after.get(attribute)
        if old == new:
            continue
        if old is not None:
            transaction.delete(name, guard_key(entity, table, attribute, old))
            about.append(attribute)
        if new is not None:
            guard = guard_key(entity, table, attribute, new)
            if table.entity_attribute:
                guard[table.entity_attribute] = f"{entity.name}.{attribute}"
            transaction.put(
                name,
                guard,
                condition=f"attribute_not_exists(#{table.partition.name})",
                message=f"another {entity.name} has the {attribute} {new!r}",
            )
            about.append(attribute)
    return about


def unchanged(entity: Entity[Any], before: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the condition, and its values, that the unique attributes are as they were read."""
    conditions = []
    values: dict[str, Any] = {}
    for attribute in entity.unique:
        if before.get(attribute) is None:
            conditions.append(f"attribute_not_exists(#{attribute})")
        else:
            conditions.append(f"#{attribute} = :was_{attribute}")
            values[f"was_{attribute}"] = before[attribute]
    return " AND ".join(conditions), values


def taken_value(failure: TransactionFailed, about: list[str]) -> NotUnique | None:
    """Return which unique value was taken, if that is why a transaction failed.

    Its first step is the item, then come the guards; `about` has the attribute of each guard.
    """
    for reason in failure.reasons:
        if reason.code == "ConditionalCheckFailed" and reason.position > 0:
            return NotUnique(reason.message, about[reason.position - 1])
    return None
