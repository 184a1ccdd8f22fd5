"""A change of an item, as a handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, final

from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.execution.items import entity_of, load
from hashrange.toolkit.values import from_wire_item

Event = Literal["INSERT", "MODIFY", "REMOVE"]


@final
@dataclass(frozen=True)
class Change:
    """One stream record. `old` and `new` are there as far as the view type of the stream has them.

    With a design, `entity` names the entity of the item, and `old_record` and `new_record` are
    instances of its model. `expired` says that time to live removed the item.
    """

    event: Event
    keys: Mapping[str, Any]
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    sequence_number: str
    event_id: str
    shard_id: str
    created_at: datetime | None = None
    expired: bool = False
    entity: str = ""
    old_record: Any = None
    new_record: Any = None

    @property
    def changed(self) -> frozenset[str]:
        """The attributes that differ between old and new image."""
        old, new = self.old or {}, self.new or {}
        return frozenset(name for name in {**old, **new} if old.get(name) != new.get(name))


def change_of(
    record: Mapping[str, Any], shard_id: str, design: Design | None, table: Table | None
) -> Change:
    """Return the change a stream record describes."""
    body = record["dynamodb"]
    old = from_wire_item(body["OldImage"]) if "OldImage" in body else None
    new = from_wire_item(body["NewImage"]) if "NewImage" in body else None
    identity = record.get("userIdentity") or {}
    keys = from_wire_item(body["Keys"])
    entity = entity_of(design, table, new or old or keys) if design and table else None

    def loaded(image: Mapping[str, Any] | None) -> Any:
        return load(entity, table, image) if entity and table and image else None

    return Change(
        record["eventName"],
        keys,
        old,
        new,
        body["SequenceNumber"],
        record.get("eventID", ""),
        shard_id,
        body.get("ApproximateCreationDateTime"),
        identity.get("PrincipalId", identity.get("principalId")) == "dynamodb.amazonaws.com",
        entity.name if entity else "",
        loaded(old),
        loaded(new),
    )
