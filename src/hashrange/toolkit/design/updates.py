"""Update expressions as text: what they set and remove, which index keys must follow, additions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.tables import Table

_SET: Final = re.compile(r"\bSET\b(.*?)(?=\b(?:ADD|REMOVE|DELETE)\b|$)", re.DOTALL)
_REMOVE: Final = re.compile(r"\bREMOVE\b(.*?)(?=\b(?:ADD|SET|DELETE)\b|$)", re.DOTALL)
_ADD: Final = re.compile(r"\bADD\b(.*?)(?=\b(?:REMOVE|SET|DELETE)\b|$)", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"#?([A-Za-z_][\w-]*)\s*=\s*:(\w+)\s*(?=,|$)")
_TARGET: Final = re.compile(r"(?:^|,)\s*#?([A-Za-z_][\w-]*)\s*=")


def assignments_of(update: str) -> dict[str, str]:
    """Return which attributes an update sets to nothing but a `:parameter`, and to which."""
    clause = _SET.search(update)
    return dict(_ASSIGNMENT.findall(clause.group(1))) if clause else {}


def computed_by(update: str) -> set[str]:
    """Return the attributes an update sets or adds to by a computation inside DynamoDB."""
    clause, addition = _SET.search(update), _ADD.search(update)
    targets = set(_TARGET.findall(clause.group(1))) if clause else set()
    added = {part.split()[0] for part in addition.group(1).split(",")} if addition else set()
    return (targets - assignments_of(update).keys()) | {name.lstrip("#") for name in added}


def removed_by(update: str) -> set[str]:
    """Return the attributes that an update removes."""
    clause = _REMOVE.search(update)
    if clause is None:
        return set()
    return {path.strip().lstrip("#") for path in clause.group(1).split(",")}


def with_set(update: str, assignments: str) -> str:
    """Return an update with further assignments in its SET clause."""
    clause = _SET.search(update)
    if clause is None:
        return f"SET {assignments} {update}".strip()
    at = clause.end(1)
    return f"{update[:at].rstrip()}, {assignments} {update[at:]}".strip()


def with_remove(update: str, names: str) -> str:
    """Return an update that removes further attributes."""
    clause = _REMOVE.search(update)
    if clause is None:
        return f"{update} REMOVE {names}"
    at = clause.end(1)
    return f"{update[:at].rstrip()}, {names} {update[at:]}".strip()


def dependent_keys(
    entity: Entity[Any], table: Table, update: str
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the key attributes made from what an update changes, with the fields of each."""
    changed = {*assignments_of(update), *removed_by(update), *computed_by(update)}
    found = []
    for key in table.all_key_attributes:
        template = entity.template(key.name)
        if template is None or key.name in changed or template.fields == (key.name,):
            continue
        if changed & set(template.fields):
            found.append((key.name, template.fields))
    return found


def problems_of_update(entity: Entity[Any], table: Table, update: str) -> Iterator[str]:
    """Yield why an update cannot keep the keys of an item in step with its attributes."""
    primary = {key.name for key in table.key_attributes}
    given = {
        field for name in primary for field in entity.required_template(name).fields
    } | assignments_of(update).keys()
    computed = computed_by(update)
    for name, fields in dependent_keys(entity, table, update):
        if name in primary:
            yield f"the update changes {name}, the primary key: delete and create the item instead"
            continue
        if removed_by(update) & set(fields):
            continue
        unknown = [field for field in fields if field not in given or field in computed]
        if unknown:
            yield f"the key {name} depends on {', '.join(unknown)}, which the update does not set"
