"""Turns the patterns of a design into requests: which store, which position, how many units.

Keys are drawn as the design declares them: enumerations and distinct values, the share of the
hottest key, shards, time buckets. Where nothing is declared, keys are as many as the items are, and
all are alike. A request stands for many calls, so that a run takes seconds whatever the rates are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final, final

from hashrange.capacity.key_ranges import Kind, Position
from hashrange.toolkit.cost.consumption import Consumption
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.templates import KeyTemplate, Placeholder
from hashrange.toolkit.rehearsal.samples import BEGINNING

KEYS_DEFAULT: Final = 10_000
_RISING: Final = frozenset(
    {"timestamp", "date", "epoch_seconds", "epoch_milliseconds", "sequence", "ulid"}
)


@final
@dataclass(frozen=True, slots=True)
class Stream:
    """The requests of a pattern to one store."""

    pattern: AccessPattern
    store: str
    kind: Kind
    units: float
    keys: KeySpace


@final
class KeySpace:
    """Draws the keys of an entity in a store."""

    def __init__(self, design: Design, entity: Entity[Any], store: str, pattern: AccessPattern):
        table = design.table(entity.table)
        index = store.partition(".")[2]
        holder = table.keys_of(index)
        self.entity = entity
        self.template = entity.required_template(holder.partition.name)
        self.sort = entity.template(holder.sort.name) if holder.sort else None
        self.hottest = (pattern.rate.hottest_share if pattern.rate else None) or 0.0
        self.is_read = pattern.is_read
        self.is_new = pattern.operation in ("create", "put", "batch_write")
        self.wants_newest = pattern.newest_first
        local = any(each.kind == "local" for each in table.indexes)
        self.is_whole = local and not index
        per_key = entity.volume.collection_items or 1
        self.keys = max(1, (entity.volume.items or KEYS_DEFAULT * per_key) // per_key)

    def draw(self, random: Random, now: float) -> tuple[str, Position]:
        """Return a key and its position at a moment of the simulation."""
        is_hottest = random.random() < self.hottest
        key = "".join(
            part if isinstance(part, str) else self._part(part, random, now, hottest=is_hottest)
            for part in self.template.parts
        )
        return key, (place_of(key), self._place(random, now))

    def _part(self, part: Placeholder, random: Random, now: float, *, hottest: bool) -> str:
        if part.shards:
            return part.shard_text(random.randrange(part.shards))
        if part.bucket:
            return part.render(int(BEGINNING.timestamp() + now))
        attribute = self.entity.attribute(part.field)
        if attribute is not None and attribute.format in _RISING and self.is_new:
            return f"{now:.0f}-{random.randrange(1000)}"
        count = self.keys
        if attribute is not None:
            count = attribute.distinct or len(attribute.values) or count
            share = attribute.hottest_share
            hottest = hottest or (share is not None and random.random() < share)
        number = 0 if hottest else random.randrange(count)
        names = attribute.values if attribute is not None else ()
        return names[number] if number < len(names) else f"{part.field}-{number}"

    def _place(self, random: Random, now: float) -> float:
        """Return where in its collection an item lies: new items of rising keys at the end."""
        if self.sort is None or self.sort.is_constant or self.is_whole:
            return 0.0
        if self._is_rising(self.sort) and (self.is_new or self.wants_newest):
            return 1.0 - 1.0 / (2.0 + now)
        return random.random()

    def _is_rising(self, template: KeyTemplate) -> bool:
        leading = template.placeholders[0]
        attribute = self.entity.attribute(leading.field)
        return bool(leading.bucket) or (attribute is not None and attribute.format in _RISING)


def streams_of(design: Design, consumption: Consumption) -> Iterator[Stream]:
    """Yield the requests of a pattern, one stream for each store and kind of unit."""
    pattern = consumption.pattern
    names = pattern.entities or tuple(step.entity for step in pattern.steps)
    for kind, stores in _by_kind(consumption):
        for store, units in stores.items():
            table, _, index = store.partition(".")
            for name in names:
                entity = design.entity(name)
                holder = design.table(table).keys_of(index)
                if entity.table == table and entity.template(holder.partition.name):
                    keys = KeySpace(design, entity, store, pattern)
                    yield Stream(pattern, store, kind, units, keys)
                    break


def _by_kind(consumption: Consumption) -> Iterator[tuple[Kind, dict[str, float]]]:
    yield "read", consumption.reads
    yield "write", consumption.writes


def place_of(key: str) -> float:
    """Return where a partition key lies in the hash range, from 0 to 1."""
    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8]) / 2**64
