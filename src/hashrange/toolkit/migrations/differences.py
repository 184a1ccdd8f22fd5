"""What differs between two designs, and whether it can be changed on a live table.

Additive changes (a table, an index, an attribute, a pattern, TTL, a stream) can be made while the
application runs. Changes of existing items need a back-fill. Changes of a primary key, of an
index's keys or of the type of a key attribute need a new table or a new index: they are reported
as destructive and never made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design, by_name
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Index, Table

Kind = Literal["additive", "backfill", "removal", "destructive"]
Action = Literal[
    "create_table", "add_index", "remove_index", "set_ttl", "set_stream", "backfill", "none"
]
Part = TypeVar("Part", Table, Entity[Any], AccessPattern)


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """One change. `subject` is written as in waivers: `table:Shop`, `index:Shop.GSI1`."""

    kind: Kind
    action: Action
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}: {self.text}"


def differences(before: Design, after: Design) -> tuple[Difference, ...]:
    """Return what must change to come from one design to another, in the order to do it."""
    found = [
        *_of_tables(before, after),
        *_of_entities(before, after),
        *_of_patterns(before, after),
    ]
    order: dict[Kind, int] = {"destructive": 0, "additive": 1, "backfill": 2, "removal": 3}
    return tuple(sorted(found, key=lambda each: order[each.kind]))


def _of_tables(before: Design, after: Design) -> Iterator[Difference]:
    old, new = by_name(before.tables), by_name(after.tables)
    for name, table in new.items():
        subject = f"table:{name}"
        if name not in old:
            yield Difference("additive", "create_table", subject, "the table is new")
            continue
        if old[name].key_attributes != table.key_attributes:
            text = "the primary key changes: copy the items to a new table"
            yield Difference("destructive", "none", subject, text)
        if old[name].ttl != table.ttl:
            yield from _of_ttl(old[name], table)
        if old[name].stream != table.stream:
            kind: Kind = "additive" if old[name].stream is None else "removal"
            yield Difference(kind, "set_stream", subject, f"the stream becomes {table.stream}")
        yield from _of_indexes(old[name], table)
    for name in old.keys() - new.keys():
        text = "the table is no longer in the design: delete it by hand"
        yield Difference("destructive", "none", f"table:{name}", text)


def _of_ttl(old: Table, new: Table) -> Iterator[Difference]:
    subject = f"table:{new.name}"
    if not old.ttl:
        yield Difference("additive", "set_ttl", subject, f"items expire by {new.ttl}")
    else:
        text = f"the TTL attribute changes from {old.ttl} to {new.ttl or 'none'}"
        yield Difference("removal", "set_ttl", subject, text)


def _of_indexes(old: Table, new: Table) -> Iterator[Difference]:
    before: Mapping[str, Index] = {index.name: index for index in old.indexes}
    after: Mapping[str, Index] = {index.name: index for index in new.indexes}
    for name, index in after.items():
        subject = f"index:{new.name}.{name}"
        if name not in before:
            if index.kind == "local":
                text = "a local index can only be made with its table"
                yield Difference("destructive", "none", subject, text)
            else:
                yield Difference("additive", "add_index", subject, "the index is new")
        elif _shape(before[name]) != _shape(index):
            text = "keys or projection change: add an index under another name"
            yield Difference("destructive", "none", subject, text)
    for name in before.keys() - after.keys():
        subject = f"index:{new.name}.{name}"
        if before[name].kind == "local":
            text = "a local index can only be removed with its table"
            yield Difference("destructive", "none", subject, text)
        else:
            yield Difference("removal", "remove_index", subject, "no pattern needs the index")


def _shape(index: Index) -> tuple[Any, ...]:
    return index.key_attributes, index.kind, index.projection, frozenset(index.include)


def _of_entities(before: Design, after: Design) -> Iterator[Difference]:
    old, new = by_name(before.entities), by_name(after.entities)
    for name, entity in new.items():
        subject = f"entity:{name}"
        if name not in old:
            yield Difference("additive", "none", subject, "the entity is new")
            continue
        yield from _of_keys(old[name], entity, after.table(entity.table))
        yield from _of_attributes(old[name], entity)
    for name in old.keys() - new.keys():
        text = "the entity is no longer in the design; its items stay"
        yield Difference("removal", "none", f"entity:{name}", text)


def _of_keys(old: Entity[Any], new: Entity[Any], table: Table) -> Iterator[Difference]:
    subject = f"entity:{new.name}"
    primary = {key.name for key in table.key_attributes}
    for key in table.all_key_attributes:
        before, after = old.template(key.name), new.template(key.name)
        if before == after or after is None:
            continue
        if key.name in primary:
            text = f"{key.name} changes to {after.text!r}: items must be copied under new keys"
            yield Difference("destructive", "none", subject, text)
        elif key.name in new.keys:
            text = f"items get {key.name} = {after.text!r}"
            yield Difference("backfill", "backfill", subject, text)


def _of_attributes(old: Entity[Any], new: Entity[Any]) -> Iterator[Difference]:
    for attribute in new.attributes:
        subject = f"attribute:{new.name}.{attribute.name}"
        before = old.attribute(attribute.name)
        if before is None and attribute.required:
            text = "the attribute is required, and items lack it"
            yield Difference("backfill", "backfill", subject, text)
        elif before is None:
            yield Difference("additive", "none", subject, "the attribute is new and optional")
        elif before.type != attribute.type and "ANY" not in (before.type, attribute.type):
            text = f"the type changes from {before.type} to {attribute.type}"
            yield Difference("backfill", "backfill", subject, text)


def _of_patterns(before: Design, after: Design) -> Iterator[Difference]:
    old, new = by_name(before.patterns), by_name(after.patterns)
    for name in new.keys() - old.keys():
        yield Difference("additive", "none", f"pattern:{name}", "the access pattern is new")
    for name in old.keys() - new.keys():
        text = "the access pattern is no longer supported"
        yield Difference("removal", "none", f"pattern:{name}", text)
