"""Contradictions in a design: names that lead nowhere, keys that cannot be made.

Only what makes a design impossible to carry out is found here. Advice is the checker's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.patterns import AccessPattern, Step
from hashrange.toolkit.design.tables import Index, Table
from hashrange.toolkit.design.templates import KeyTemplate, parse_template
from hashrange.toolkit.design.updates import assignments_of, problems_of_update, removed_by
from hashrange.toolkit.errors import DesignError

_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TABLE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")


def find_problems(
    tables: Sequence[Table],
    entities: Sequence[Entity[Any]],
    patterns: Sequence[AccessPattern],
) -> tuple[str, ...]:
    """Return a sentence for each contradiction in a design."""
    return (
        *_repeated("table", [table.name for table in tables]),
        *_repeated("entity", [entity.name for entity in entities]),
        *_repeated("access pattern", [pattern.name for pattern in patterns]),
        *(problem for table in tables for problem in _of_table(table)),
        *(problem for entity in entities for problem in _of_entity(entity, tables)),
        *(problem for each in patterns for problem in _of_pattern(each, tables, entities)),
    )


def _repeated(kind: str, names: list[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"there are {count} {kind} declarations called {name}"


def _of_table(table: Table) -> Iterator[str]:
    if not _TABLE_NAME.fullmatch(table.name):
        yield f"table {table.name!r}: a name has 3 to 255 of the characters a-z A-Z 0-9 _ . -"
    yield from _repeated(f"index of table {table.name}", [each.name for each in table.indexes])
    types: dict[str, str] = {}
    for key in (*table.key_attributes, *(k for i in table.indexes for k in i.key_attributes)):
        if types.setdefault(key.name, key.type) != key.type:
            yield f"table {table.name}: key attribute {key.name} has two types"
    for index in table.indexes:
        yield from _of_index(index, table)


def _of_index(index: Index, table: Table) -> Iterator[str]:
    where = f"index {table.name}.{index.name}"
    if index.kind == "local" and (index.partition != table.partition or index.sort is None):
        yield f"{where}: a local index has the partition key of its table and a sort key"
    if index.kind == "local" and table.sort is None:
        yield f"{where}: only a table with a sort key can have local indexes"
    if bool(index.include) != (index.projection == "INCLUDE"):
        yield f"{where}: include lists attributes exactly if the projection is INCLUDE"


def _of_entity(entity: Entity[Any], tables: Sequence[Table]) -> Iterator[str]:
    where = f"entity {entity.name}"
    if not _IDENTIFIER.fullmatch(entity.name):
        yield f"{where}: a name consists of letters, digits and underscores"
    table = next((each for each in tables if each.name == entity.table), None)
    if table is None:
        yield f"{where}: there is no table {entity.table!r}"
        return
    known = {key.name: key for key in table.all_key_attributes}
    for name in entity.keys:
        if name not in known:
            yield f"{where}: {name} is no key attribute of table {table.name} or its indexes"
    for key in table.key_attributes:
        if entity.keys.get(key.name) is None and entity.attribute(key.name) is None:
            yield f"{where}: the key attribute {key.name} has no template"
    for name in known:
        template, problem = _parsed(entity, name)
        if problem:
            yield f"{where}: {problem}"
        elif template and known[name].type != "S" and not template.is_bare:
            yield f"{where}: {name} has type {known[name].type}, its template must be one field"
        elif template and name in entity.keys and entity.attributes:
            for field in template.fields:
                if entity.attribute(field) is None:
                    yield f"{where}: the template of {name} uses {field}, which is no attribute"
    yield from _of_rules(entity, table)


def _parsed(entity: Entity[Any], name: str) -> tuple[KeyTemplate | None, str]:
    try:
        return entity.template(name), ""
    except DesignError as error:
        return None, str(error)


def _of_rules(entity: Entity[Any], table: Table) -> Iterator[str]:
    where = f"entity {entity.name}"
    if entity.expires_after is not None and not table.ttl:
        yield f"{where}: items expire, but table {table.name} has no ttl attribute"
    if entity.unique and any(key.type != "S" for key in table.key_attributes):
        yield f"{where}: unique attributes need a table with keys of type S, for the guard items"
    for name in entity.unique:
        if entity.attributes and entity.attribute(name) is None:
            yield f"{where}: the unique attribute {name} is not declared"


def _of_pattern(
    pattern: AccessPattern, tables: Sequence[Table], entities: Sequence[Entity[Any]]
) -> Iterator[str]:
    where = f"access pattern {pattern.name}"
    if not _IDENTIFIER.fullmatch(pattern.name):
        yield f"{where}: a name consists of letters, digits and underscores"
    names = {entity.name for entity in entities}
    for name in (*pattern.entities, *(step.entity for step in pattern.steps)):
        if name not in names:
            yield f"{where}: there is no entity {name}"
    if pattern.operation in ("transact_write", "transact_get"):
        if not pattern.steps:
            yield f"{where}: a transaction needs steps"
        for step in pattern.steps:
            yield from (f"{where}: {each}" for each in _of_step(step, tables, entities))
        return
    if pattern.steps:
        yield f"{where}: only transactions have steps"
    table = next((each for each in tables if each.name == pattern.table), None)
    if table is None:
        yield f"{where}: there is no table {pattern.table!r}"
        return
    if pattern.index and all(index.name != pattern.index for index in table.indexes):
        yield f"{where}: table {table.name} has no index {pattern.index}"
        return
    yield from _of_keys(pattern, table)
    entity = next((each for each in entities if each.name in pattern.entities[:1]), None)
    if entity and pattern.operation == "update":
        problems = problems_of_update(entity, table, pattern.update)
        yield from (f"{where}: {each}" for each in problems)


def _of_step(step: Step, tables: Sequence[Table], entities: Sequence[Entity[Any]]) -> Iterator[str]:
    entity = next((each for each in entities if each.name == step.entity), None)
    table = next((each for each in tables if entity and each.name == entity.table), None)
    if entity is None or table is None:
        return
    if step.action == "update":
        if not step.update:
            yield f"the update of {entity.name} needs an update expression"
        yield from problems_of_update(entity, table, step.update)
    changed = {*assignments_of(step.update), *removed_by(step.update)}
    if entity.unique and (step.action in ("put", "delete") or changed & set(entity.unique)):
        yield (
            f"the step on {entity.name} would have to read its unique attributes first: "
            "let a pattern of its own do it"
        )


def _of_keys(pattern: AccessPattern, table: Table) -> Iterator[str]:
    where = f"access pattern {pattern.name}"
    if pattern.index and pattern.operation not in ("query", "scan"):
        yield f"{where}: only query and scan can use an index"
    if pattern.operation != "scan" and not pattern.entities:
        yield f"{where}: at least one entity must be named"
    for text in pattern.templates:
        try:
            parse_template(text)
        except DesignError as error:
            yield f"{where}: {error}"
    if pattern.operation == "scan":
        return
    keys = table.keys_of(pattern.index)
    if not pattern.partition_key:
        yield f"{where}: nothing says what the partition key {keys.partition.name} is"
    if pattern.sort_key and keys.sort is None:
        yield f"{where}: {pattern.index or table.name} has no sort key"
    if pattern.consistent and pattern.index and table.index(pattern.index).kind == "global":
        yield f"{where}: a global index cannot be read with strong consistency"
    if pattern.operation == "update" and not pattern.update:
        yield f"{where}: an update needs an update expression"
