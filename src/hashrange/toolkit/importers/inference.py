"""Entities inferred from items: what their keys have in common, and what they hold.

Items are grouped by their entity attribute if they have one (`type`, `entity` and so on), else by
the shape of their primary key: the key is cut at its delimiters, and pieces in capital letters
count as literal. A piece that is not literal becomes a field: the attribute that always has the
same value, else a name made from the literal before it (`USER#7` gives `user_id`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hashrange.toolkit.design.entities import Attribute, AttributeType, Entity
from hashrange.toolkit.design.expectations import Volume
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.design.templates import literal_template
from hashrange.toolkit.item_sizes import item_bytes
from hashrange.toolkit.values import Item

_LABELS: Final = ("type", "entity", "entity_type", "entityType", "EntityType", "_type", "__type")
_DELIMITERS: Final = re.compile(r"([#|:/])")
_LITERAL: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_VALUES_MAX: Final = 12

Shape = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Inferred:
    """What was found out: the entities, and the attribute that names them (or an empty text)."""

    entities: tuple[Entity[Any], ...]
    entity_attribute: str


def infer_entities(table: Table, items: Sequence[Item], total_items: int | None = None) -> Inferred:
    """Return the entities of a table, inferred from a sample of its items."""
    label = next((name for name in _LABELS if _labels_all(items, name)), "")
    groups: dict[Any, list[Item]] = defaultdict(list)
    for item in items:
        groups[item[label]["S"] if label else _shape_of(table, item)].append(item)
    entities = []
    names: set[str] = set()
    for members in groups.values():
        name = _unused(_entity_name(table, members, label), names)
        names.add(name)
        share = None if total_items is None else round(total_items * len(members) / len(items))
        said = members[0][label]["S"] if label else ""
        entity = _entity(name, table, members, share)
        entities.append(replace(entity, label="" if said == name else said))
    return Inferred(tuple(entities), label)


def _labels_all(items: Sequence[Item], name: str) -> bool:
    values = [item.get(name, {}).get("S") for item in items]
    return bool(values) and all(values) and len(set(values)) <= max(20, len(values) // 10)


def _pieces(value: str) -> list[str]:
    return _DELIMITERS.split(value)


def _is_literal(piece: str) -> bool:
    return bool(_LITERAL.fullmatch(piece)) or (len(piece) == 1 and piece in "#|:/") or not piece


def _shape_of(table: Table, item: Item) -> Shape:
    """Return the literal pieces of the primary key of an item; fields are empty texts."""
    return tuple(_shape(item[key.name]) for key in table.key_attributes)


def _shape(value: Mapping[str, Any]) -> tuple[str, ...]:
    text = value.get("S")
    if text is None:
        return ("",)
    pieces = _pieces(text)
    if not any(_LITERAL.fullmatch(piece) for piece in pieces):
        return ("",)  # no prefix: the whole value is one field
    return tuple(piece if _is_literal(piece) else "" for piece in pieces)


def _entity_name(table: Table, members: Sequence[Item], label: str) -> str:
    if label:
        return _identifier(members[0][label]["S"])
    words = [
        piece
        for key in table.key_attributes
        for piece in _shape(members[0][key.name])
        if _LITERAL.fullmatch(piece)
    ]
    return _identifier(words[-1] if words else table.name)


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if name[:1].isalpha() else f"entity_{name}".rstrip("_")


def _unused(name: str, taken: set[str]) -> str:
    number = 1
    candidate = name
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _entity(name: str, table: Table, members: Sequence[Item], total: int | None) -> Entity[Any]:
    keys: dict[str, str] = {}
    made: dict[str, Attribute] = {}
    key_names = [key.name for key in table.all_key_attributes]
    for key_name in key_names:
        present = [item[key_name] for item in members if key_name in item]
        text = _template(key_name, present, members) if present else None
        if text is not None and text != f"{{{key_name}}}":
            keys[key_name] = text
            for field in re.findall(r"\{(\w+)\}", text):
                made.setdefault(field, Attribute(field))
    observed = _attributes(members, set(keys))
    sizes = [item_bytes(item) for item in members]
    return Entity(
        name,
        keys,
        dict,
        table.name,
        tuple({**made, **observed}.values()),
        Volume(total, sum(sizes) // len(sizes), max(sizes)),
    )


def _template(
    key_name: str, values: Sequence[Mapping[str, Any]], members: Sequence[Item]
) -> str | None:
    """Return the template that all values of a key attribute fit, `{name}` if there is none."""
    shapes = {_shape(value) for value in values}
    if len(shapes) != 1 or shapes == {("",)}:
        return f"{{{key_name}}}"
    shape = shapes.pop()
    parts: list[str] = []
    word = ""
    used: set[str] = set()
    for position, piece in enumerate(shape):
        if _is_literal(piece) and piece:
            word = piece if _LITERAL.fullmatch(piece) else word
            parts.append(literal_template(piece))
        elif piece == "" and all(not _pieces(v["S"])[position] for v in values):
            continue
        else:
            field = _field(position, key_name, word, members) or f"{key_name}_{position}"
            field = _unused(field, used)
            used.add(field)
            parts.append(f"{{{field}}}")
    return "".join(parts)


def _field(position: int, key_name: str, word: str, members: Sequence[Item]) -> str:
    """Return the attribute that holds a piece of a key in all items, else a name made from it."""
    rows = [(item, _pieces(item[key_name]["S"])[position]) for item in members if key_name in item]
    for name in rows[0][0]:
        if name != key_name and all(_text(item.get(name)) == piece for item, piece in rows):
            return re.sub(r"\W", "_", name)
    if not word:
        return ""
    is_date = all(_DATE.match(piece) for _, piece in rows)
    made = f"{_identifier(word)}_{'date' if is_date else 'id'}"
    return _unused(made, {name for item, _ in rows for name in item})


def _text(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else value.get("S", value.get("N"))


def _attributes(members: Sequence[Item], templated: set[str]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for name in dict.fromkeys(name for item in members for name in item):
        if name in templated:
            continue
        present = [item[name] for item in members if name in item]
        kinds = {kind for value in present for kind in value} - {"NULL"}
        kind: AttributeType = kinds.pop() if len(kinds) == 1 else "ANY"  # type: ignore[assignment]  # as the service has it
        texts = {value["S"] for value in present if "S" in value}
        found[name] = Attribute(
            name,
            kind,
            required=len(present) == len(members),
            values=tuple(sorted(texts)) if _is_enumeration(texts, present) else (),
            distinct=None,
        )
    return found


def _is_enumeration(texts: set[str], present: Sequence[Any]) -> bool:
    return 0 < len(texts) <= _VALUES_MAX and len(present) >= 10 * len(texts)
