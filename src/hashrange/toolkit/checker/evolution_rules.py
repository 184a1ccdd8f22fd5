"""Compares a design with its previous version: what exists must keep working."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hashrange.toolkit.checker.check import findings_of
from hashrange.toolkit.checker.findings import (
    Finding,
    Problem,
    Problems,
    Rulebook,
    of_attribute,
    of_entity,
    of_index,
    of_pattern,
    of_table,
)
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design, by_name
from hashrange.toolkit.design.tables import Table

book = Rulebook()


@book.rule(
    "evolution-pattern-lost",
    "error",
    standard="Schema changes MUST preserve existing access patterns.",
    why="Code that calls the pattern breaks with the next deployment.",
    mend="Keep the pattern until nobody calls it (hashrange design watch), then waive this rule.",
)
def _pattern_lost(_: Design) -> Problems:
    """A pattern of the previous version is gone or takes other parameters."""
    yield from ()


@book.rule(
    "evolution-destructive",
    "error",
    standard="Avoid destructive changes without a migration/backfill plan.",
    why="Stored items have the old keys and types; the new design cannot read them.",
    mend="Add new attributes or indexes beside the old ones and back-fill them.",
)
def _destructive(_: Design) -> Problems:
    """Keys, types or tables change under stored items."""
    yield from ()


@book.rule(
    "evolution-required-attribute",
    "warning",
    standard="Prefer additive changes; handle missing attributes gracefully.",
    why="Items written before the change lack the attribute.",
    mend="Set required = false, or back-fill the attribute first.",
)
def _required_attribute(_: Design) -> Problems:
    """A new attribute is required in items that exist already."""
    yield from ()


def compare_designs(old: Design, new: Design) -> list[Finding]:
    """Return what a new version of a design breaks."""
    lost, destructive, required = book.rules
    return [
        *findings_of(lost, _lost_patterns(old, new)),
        *findings_of(destructive, _destroyed(old, new)),
        *findings_of(required, _required(old, new)),
    ]


def _lost_patterns(old: Design, new: Design) -> Iterator[Problem]:
    now = by_name(new.patterns)
    for pattern in old.patterns:
        found = now.get(pattern.name)
        if found is None:
            yield Problem(of_pattern(pattern), "the pattern is gone")
        elif old.parameters_of(pattern) != new.parameters_of(found):
            parameters = ", ".join(new.parameters_of(found)) or "nothing"
            yield Problem(of_pattern(pattern), f"it takes {parameters} now")


def _destroyed(old: Design, new: Design) -> Iterator[Problem]:
    tables, entities = by_name(new.tables), by_name(new.entities)
    for table in old.tables:
        found = tables.get(table.name)
        if found is None:
            yield Problem(of_table(table), "the table is gone")
        elif table.key_attributes != found.key_attributes:
            yield Problem(of_table(table), "its primary key is another")
        else:
            yield from _changed_indexes(table, found)
    for entity in old.entities:
        if entity.name not in entities:
            yield Problem(of_entity(entity), "the entity is gone")
        else:
            yield from _changed_entity(entity, entities[entity.name], old.table(entity.table))


def _changed_indexes(old: Table, new: Table) -> Iterator[Problem]:
    before = {index.name: index for index in old.indexes}
    for index in new.indexes:
        previous = before.get(index.name)
        if previous is None and index.kind == "local":
            yield Problem(of_index(new, index), "a local index needs a new table")
        elif previous is not None and previous.key_attributes != index.key_attributes:
            yield Problem(of_index(new, index), "its key is another: create it under a new name")


def _changed_entity(old: Entity[Any], new: Entity[Any], table: Table) -> Iterator[Problem]:
    for key in table.key_attributes:
        before, now = old.template(key.name), new.template(key.name)
        if before is not None and now is not None and before.text != now.text:
            yield Problem(of_entity(new), f"{key.name} was {before.text!r} and is {now.text!r}")
    for attribute in old.attributes:
        found = new.attribute(attribute.name)
        if found is None:
            yield Problem(of_attribute(old, attribute), "the attribute is gone", "warning")
        elif found.type != attribute.type:
            yield Problem(
                of_attribute(old, attribute), f"its type was {attribute.type} and is {found.type}"
            )


def _required(old: Design, new: Design) -> Iterator[Problem]:
    before = by_name(old.entities)
    for entity in new.entities:
        previous = before.get(entity.name)
        for attribute in entity.attributes if previous else ():
            assert previous is not None
            if attribute.required and previous.attribute(attribute.name) is None:
                yield Problem(of_attribute(entity, attribute), "items that exist lack it")
