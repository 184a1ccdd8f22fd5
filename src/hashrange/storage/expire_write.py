"""The write by which the service itself deletes an expired item."""

from __future__ import annotations

from typing import final

from hashrange.engine.base import Changes
from hashrange.model.keys import decode_key
from hashrange.model.schema import Table
from hashrange.storage.expiry import expiry_key, expiry_second
from hashrange.storage.images import Image
from hashrange.storage.layout import unpack_item
from hashrange.storage.writes import ItemOutcome, ItemWrite


@final
class ExpireWrite(ItemWrite):
    """Delete an item, if it is expired by what it holds now."""

    __slots__ = ("expired", "expiry_key")

    by_service = True

    def __init__(self, table: Table, key: bytes, expired: range, expiry_key: bytes) -> None:
        values = decode_key([part.type for part in table.parts], key)
        super().__init__(table, key, dict(zip(table.key_names, values, strict=True)), None)
        self.expired = expired
        self.expiry_key = expiry_key

    def apply(self, row: bytes | None, changes: Changes) -> ItemOutcome:
        attribute = self.table.time_to_live
        assert attribute is not None
        item = {} if row is None else unpack_item(row)
        second = expiry_second(item.get(attribute))
        if row is not None and second is not None and second in self.expired:
            return self.record(row, Image(item, None), changes)
        if second is None or expiry_key(second, self.key) != self.expiry_key:
            # The write that changed the item took the expiry row with it. Were one left behind all
            # the same, it would be found for ever.
            shard = self.row_key[1]
            changes.deletes.append((self.table.expiry_store, shard, self.expiry_key))
        return ItemOutcome(row, row, matched=False)
