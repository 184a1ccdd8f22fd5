"""The sections on keys: the layout of each table with sample items, templates, collections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.tables import Index, Table
from hashrange.toolkit.design.templates import KeyTemplate
from hashrange.toolkit.report.facts import Facts, Row, sample_rows
from hashrange.toolkit.report.markup import Content, Markup, element, joined, table_of
from hashrange.toolkit.report.style import entity_colour, entity_style

_ATTRIBUTES_SHOWN: Final = 6
_VALUE_WIDTH: Final = 26
_UUID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_EXACT_TIME: Final = re.compile(r"(\d\d:\d\d):\d\d\.\d{6}Z")
_NUMBERED: Final = re.compile(r"([A-Za-z]\w*?)(?:_id)?-(\d{6})\b")
_ZEROS: Final = re.compile(r"0{9,}")


def layout_section(facts: Facts) -> Markup:
    """Return the key layout of every table and index, filled with generated items."""
    parts: list[Content] = []
    for table in facts.design.tables:
        parts.append(_heading(table.name, "table", table, None))
        parts.append(_layout(facts, table, None))
        for index in table.indexes:
            parts.append(
                _heading(f"{table.name}.{index.name}", f"{index.kind} index", table, index)
            )
            parts.append(_layout(facts, table, index))
    return joined(*parts)


def _heading(name: str, kind: str, table: Table, index: Index | None) -> Markup:
    notes = [kind]
    if index is None:
        notes.append("on-demand" if table.capacity.mode == "on_demand" else "provisioned")
        notes += [f"TTL {table.ttl}"] if table.ttl else []
        notes += ["stream"] if table.stream else []
        notes += ["point-in-time recovery"] if table.point_in_time_recovery else []
    else:
        included = f" {', '.join(index.include)}" if index.include else ""
        notes.append(f"projects {index.projection}{included}")
        notes += ["sparse"] if index.sparse else []
    return element("h3", name, " ", element("span", " · ".join(notes), class_="dim also"))


def _layout(facts: Facts, table: Table, index: Index | None) -> Markup:
    holder = index or table
    names = [key.name for key in holder.key_attributes]
    rows: list[Markup] = []
    found = sample_rows(facts, table, index)
    for _, group in groupby(found, key=lambda row: str(row.item[names[0]])):
        members = list(group)
        for position, row in enumerate(members):
            cells = []
            if position == 0:
                value = shortened(row.item[names[0]])
                cells.append(element("td", value, class_="key pk", rowspan=len(members)))
            if len(names) > 1:
                cells.append(element("td", shortened(row.item[names[1]]), class_="key sk"))
            cells.append(element("td", chip(facts, row.entity)))
            cells.append(element("td", *_attributes(row, table, index)))
            rows.append(element("tr", *cells))
    if not rows:
        return element("p", "No entity has keys for it.", class_="lead")
    head: list[Content] = [f"{names[0]}", *names[1:], "entity", "attributes"]
    return table_of(head, rows)


def _attributes(row: Row, table: Table, index: Index | None) -> Iterator[Markup]:
    keys = {key.name for key in table.all_key_attributes} | {table.entity_attribute}
    held = None
    if index is not None and index.projection != "ALL":
        held = set(index.include)
    holder = index or table
    templates = [row.entity.required_template(key.name) for key in holder.key_attributes]
    shown = {each.field for t in templates for each in t.placeholders if not each.is_computed}
    hidden = keys | shown
    names = [n for n in row.item if n not in hidden and (held is None or n in held)]
    for name in names[:_ATTRIBUTES_SHOWN]:
        text = shortened(row.item[name])
        short = text if len(text) <= _VALUE_WIDTH else text[: _VALUE_WIDTH - 1] + "…"
        yield element("span", element("i", name), element("code", short), class_="attr")
    if len(names) > _ATTRIBUTES_SHOWN:
        yield element("span", f"+{len(names) - _ATTRIBUTES_SHOWN}", class_="dim")


def shortened(value: Any) -> str:
    """Return a value as text, with long ids and exact times cut for the eye."""
    text = _UUID.sub(lambda found: f"{found.group(1)}…", str(value))
    text = _EXACT_TIME.sub(r"\1Z", text)
    text = _NUMBERED.sub(lambda found: f"{found.group(1)}-{int(found.group(2))}", text)
    return _ZEROS.sub("0…0", text)


def chip(facts: Facts, entity: Entity[Any]) -> Markup:
    """Return the name of an entity in its colour."""
    return element(
        "span", entity.name, class_="chip", style=entity_style(facts.entity_number(entity))
    )


def templates_section(facts: Facts) -> Markup:
    """Return the key templates of all entities, a table per table."""
    parts: list[Content] = []
    for table in facts.design.tables:
        keys = table.all_key_attributes
        head: list[Content] = ["entity", *(key.name for key in keys)]
        rows = [
            element(
                "tr",
                element("td", chip(facts, entity)),
                *(
                    element("td", _template(entity.template(key.name)), class_="key")
                    for key in keys
                ),
            )
            for entity in facts.design.entities_of(table.name)
        ]
        parts.append(element("h3", table.name))
        parts.append(table_of(head, rows))
    return joined(*parts)


def _template(template: KeyTemplate | None) -> Markup:
    if template is None:
        return element("span", "–", class_="dim")
    pieces: list[Content] = []
    for part in template.parts:
        if isinstance(part, str):
            pieces.append(part)
        else:
            detail = f"shard {part.shards}" if part.shards else part.bucket
            detail = detail or (f"0{part.width}d" if part.width else "")
            text = f"{{{part.field}{':' if detail else ''}{detail}}}"
            pieces.append(element("span", text, class_="field"))
    return joined(*pieces)


def collections_section(facts: Facts) -> Markup:
    """Return a card per kind of item collection, with its members and their sizes."""
    cards = []
    for table in facts.design.tables:
        groups: dict[str, list[Entity[Any]]] = {}
        for entity in facts.design.entities_of(table.name):
            template = entity.required_template(table.partition.name)
            groups.setdefault(template.text, []).append(entity)
        for text, members in groups.items():
            cards.append(_collection(facts, table, text, members))
    return element("div", *cards, class_="cards")


def _collection(facts: Facts, table: Table, text: str, members: list[Entity[Any]]) -> Markup:
    sizes = {entity.name: _typical_bytes(table, entity) for entity in members}
    largest = max(sizes.values()) or 1
    parts = [element("div", element("code", text), class_="collection-head")]
    for entity in members:
        volume = entity.volume
        count = volume.collection_items if volume.collection_items is not None else 1
        most = f", at most {volume.collection_items_max:,}" if volume.collection_items_max else ""
        endless = ", without end" if volume.growth == "unbounded" else ""
        known = volume.collection_items is not None or _is_alone(table, entity)
        words = f"{count:,} item{'' if count == 1 else 's'}{most}{endless}" if known else "?"
        colour = entity_colour(facts.entity_number(entity))
        share = max(2.0, 100 * sizes[entity.name] / largest)
        bar = element("b", style=f"width: {share:.0f}%; background: {colour}")
        parts.append(
            element(
                "div",
                chip(facts, entity),
                element("span", f"{words} · {_bytes(sizes[entity.name])}", class_="also"),
                element("div", bar, class_="bar"),
                class_="member",
            )
        )
    return element("div", *parts, class_="card")


def _is_alone(table: Table, entity: Entity[Any]) -> bool:
    return table.sort is None or entity.required_template(table.sort.name).is_constant


def _typical_bytes(table: Table, entity: Entity[Any]) -> int:
    count = 1 if _is_alone(table, entity) else entity.volume.collection_items or 1
    return count * (entity.volume.item_bytes or 1024)


def _bytes(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:
            return f"{size:,.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} GB"
