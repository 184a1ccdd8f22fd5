"""The one write path: item writes as pure decisions, alone or many together.

A write sees the previous row of its item, decides, and adds to the engine's changes: the item row,
its index rows, the tallies, for tables with local indexes the size of its item collection, for
tables with a stream the record of the change, and for tables with a history the row it replaces.
A failed condition is an outcome. A client error that depends on the stored item (an update that
does not apply, an item that becomes too large) is a ValidationException from `apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from hashrange.engine.base import Changes, Fence, RowKey
from hashrange.errors import (
    ClientError,
    ThroughputError,
    ValidationException,
)
from hashrange.expressions.conditions import Condition
from hashrange.expressions.updates import Update
from hashrange.limits import ITEM_BYTES_MAX
from hashrange.model.schema import Index, Table
from hashrange.model.values import Item, item_size
from hashrange.storage.expiry import change_expiry
from hashrange.storage.foresight import (
    COSTLY_BYTES,
    Costly,
    Foreseen,
    is_costly,
    too_costly,
)
from hashrange.storage.images import Image
from hashrange.storage.index_queue import queue_changes
from hashrange.storage.indexes import (
    NO_KEYS,
    IndexPressure,
    change_indexes,
    changed_keys,
    write_units,
)
from hashrange.storage.item_collections import change_collections, collection_key
from hashrange.storage.items import item_row
from hashrange.storage.layout import pack_item, row_size, unpack_item, unpack_size
from hashrange.storage.locks import Lock, lock_row, unpack_lock
from hashrange.storage.log import is_change, log_change
from hashrange.storage.tokens import TokenCheck


@final
class ItemOutcome:
    """The outcome of one item write: rows before and after, and its write units.

    `charges` are write units per index, and `index_keys` the keys of the rows changed there, noted
    only for tables whose key ranges have ceilings. `collection_bytes` is the change in size of the
    item collection, and later, once the decision is made, `collection_size` its new size.
    """

    __slots__ = (
        "charges",
        "collection_bytes",
        "collection_size",
        "index_keys",
        "matched",
        "new",
        "old",
        "units",
    )

    def __init__(self, old: bytes | None, new: bytes | None, *, matched: bool = True) -> None:
        self.old = old
        self.new = new
        self.matched = matched
        old_size: int = 0 if old is None else unpack_size(old)[0]
        new_size: int = 0 if new is None else unpack_size(new)[0]
        self.units = write_units(new_size if new_size > old_size else old_size)
        self.charges: dict[str, int] = {}
        self.index_keys: dict[str, bytes] = NO_KEYS
        self.collection_bytes = new_size - old_size
        self.collection_size = 0


class ItemWrite:
    """A put, update, delete or check of one item.

    The decision it becomes part of sets its time, which decisions cannot ask for. `resolve` decides
    what the item shall be, and `record` has the change done; `apply` does both.
    """

    __slots__ = (
        "condition",
        "foreseen",
        "has_turn",
        "is_bulky",
        "key",
        "key_item",
        "pressure",
        "row_key",
        "table",
        "time",
        "unmarked",
        "who",
    )

    # Whether the service itself made the write, as when an item expires.
    by_service = False

    def __init__(
        self, table: Table, key: bytes, key_item: Item, condition: Condition | None
    ) -> None:
        self.table = table
        self.key = key
        self.row_key = item_row(table, key)
        self.key_item = key_item  # holds the key attributes, maybe more; see PutWrite
        self.condition = condition
        self.time = 0.0
        self.who = b""  # the principal, if the history of the table shall name it
        self.unmarked: tuple[Index, ...] = ()
        self.foreseen: Foreseen | None = None
        # Whether it has so many values that it has to be resolved before its turn.
        self.is_bulky = False
        self.has_turn = False  # among the long work; see storage/foresight
        # Set when an index of the table has no capacity left.
        self.pressure: IndexPressure | None = None

    def mark_keys(self) -> list[RowKey]:
        """Return where it is marked that the item is in an index that is being filled."""
        return [self._mark_key(index) for index in self.table.filling]

    def _mark_key(self, index: Index) -> RowKey:
        return (index.fill_store, self.row_key[1], self.key)

    def see_marks(self, rows: dict[RowKey, bytes | None]) -> None:
        """Note which of the indexes being filled do not hold the item yet."""
        self.unmarked = tuple(
            [index for index in self.table.filling if rows[self._mark_key(index)] is None]
        )

    def resolve(self, row: bytes | None) -> Image:
        """Return the image of the item, given its previous row. Changes nothing."""
        raise NotImplementedError

    def reads_item(self) -> bool:
        """Tell whether `resolve` decodes the previous row."""
        return self.condition is not None or self.table.has_derived_rows

    def slim(self, image: Image) -> Image:
        """Return the image without the items, unless rows are derived from them."""
        if self.table.has_derived_rows:
            return image
        new = None if image.new is None else (self.key_item, image.new[1])
        return Image(None, new, matched=image.matched, is_change=image.is_change)

    def apply(self, row: bytes | None, changes: Changes) -> ItemOutcome:
        """Decide on the previous row; add what is to be done to `changes`."""
        image = None if self.foreseen is None else self.foreseen.image(row)
        if image is None:
            image = self.resolve(row)
        if not image.matched:
            return ItemOutcome(row, None, matched=False)
        if not image.is_change:
            return ItemOutcome(row, row)
        return self.record(row, image, changes)

    def record(self, row: bytes | None, image: Image, changes: Changes) -> ItemOutcome:
        """Add the change of the item to its image to `changes`, with all rows derived from it.

        The old item is only needed for tables with rows derived from items.
        """
        table = self.table
        old = None if row is None or image.old is None else (image.old, row)
        new = image.new
        if self.pressure is not None:
            trial = Changes()
            charges, _ = change_indexes(table, old, new, (trial, trial), self.unmarked)
            self.pressure.check(charges, trial)
        old_row, new_row = row, None if new is None else new[1]
        outcome = ItemOutcome(old_row, new_row)
        if new_row is not None:
            store, shard, key = self.row_key
            changes.puts.append((store, shard, key, new_row))
        elif old_row is not None:
            changes.deletes.append(self.row_key)
        added = (new_row is not None) - (old_row is not None)
        changes.tallies.append((table.store, added, outcome.collection_bytes))
        if table.indexes:
            indexed = Changes() if table.queue_store else changes
            first_put, first_delete = len(indexed.puts), len(indexed.deletes)
            outcome.charges, local_bytes = change_indexes(
                table, old, new, (changes, indexed), self.unmarked
            )
            if table.meter is not None and table.meter.has_ranges:
                outcome.index_keys = changed_keys(table, indexed, first_put, first_delete)
            if table.queue_store:
                queue_changes(table, self.row_key[1], indexed, changes, self.time or None)
            outcome.collection_bytes += local_bytes
            for index in self.unmarked:
                changes.puts.append((*self._mark_key(index), b""))
        if table.time_to_live is not None:
            before = None if old is None else old[0].get(table.time_to_live)
            after = None if new is None else new[0].get(table.time_to_live)
            change_expiry(table, self.row_key, before, after, changes)
        if table.stream is not None or table.history_stores:
            items = (None if old is None else old[0], None if new is None else new[0])
            rows = (old_row, new_row)
            if is_change(rows, items):
                who = (self.time, int(self.by_service), self.who)
                log_change(table, self.row_key, self.key_item, rows, who, changes)
        return outcome


@final
class PutWrite(ItemWrite):
    """Replace an item, or create it."""

    __slots__ = ("row",)

    def __init__(
        self, table: Table, key: bytes, item: Item, condition: Condition | None, *, size: int
    ) -> None:
        # While the write waits, its row is enough, unless other rows are made from the item.
        is_needed = table.has_derived_rows or table.stream is not None or bool(table.history_stores)
        super().__init__(table, key, item if is_needed else {}, condition)
        self.row = pack_item(item, size)

    def resolve(self, row: bytes | None) -> Image:
        old = None
        if row is not None and (self.condition is not None or self.table.has_derived_rows):
            old = unpack_item(row)
        if self.condition is not None and not self.condition.matches(old or {}):
            return Image(old, None, matched=False)
        return Image(old, (self.key_item, self.row))


@final
class DeleteWrite(ItemWrite):
    """Delete an item, if it is there."""

    __slots__ = ()

    def resolve(self, row: bytes | None) -> Image:
        old = None
        if row is not None and (self.condition is not None or self.table.has_derived_rows):
            old = unpack_item(row)
        if self.condition is not None and not self.condition.matches(old or {}):
            return Image(old, None, matched=False)
        return Image(old, None, is_change=row is not None)


@final
class CheckWrite(ItemWrite):
    """Check the condition on an item and change nothing."""

    __slots__ = ()

    def reads_item(self) -> bool:
        return True

    def resolve(self, row: bytes | None) -> Image:
        item = {} if row is None else unpack_item(row)
        matched = self.condition is None or self.condition.matches(item)
        return Image(item, None, matched=matched, is_change=False)


@final
class UpdateWrite(ItemWrite):
    """Edit an item's attributes, creating the item if it is not there and gets any.

    `check` is called with the edited item and refuses it by raising. `counts_actions` adds what
    UpdateItem alone counts against the item size limit.
    """

    __slots__ = ("check", "counts_actions", "update")

    def __init__(
        self,
        table: Table,
        key: bytes,
        key_item: Item,
        condition: Condition | None,
        *,
        update: Update | None,
        check: Callable[[Table, Update, Item], None],
        counts_actions: bool,
    ) -> None:
        super().__init__(table, key, key_item, condition)
        self.update = update
        self.check = check
        self.counts_actions = counts_actions

    def reads_item(self) -> bool:
        return True

    def resolve(self, row: bytes | None) -> Image:
        old = None if row is None else unpack_item(row)
        if self.condition is not None and not self.condition.matches(old or {}):
            return Image(old, None, matched=False)
        new = self.key_item if old is None else old
        if self.update is not None:
            if old is None and self.update.only_takes_away:
                self._measure(None, None, new)
                return Image(None, None, is_change=False)
            new = self.update.apply(new)
        return Image(old, (new, pack_item(new, self._check(old, row, new))))

    def _check(self, old: Item | None, row: bytes | None, new: Item) -> int:
        """Refuse an edited item that is not allowed; return its size."""
        size = self._measure(old, row, new)
        if self.table.indexes and self.update is not None:
            self.check(self.table, self.update, new)
        return size

    def _measure(self, old: Item | None, row: bytes | None, new: Item) -> int:
        """Return the new item's size, counting only what the update may have changed."""
        update = self.update
        if old is None or row is None or update is None:
            size = item_size(new)
        else:
            size = row_size(row)
            for name in update.attributes:
                before, after = old.get(name), new.get(name)
                if before is not after:
                    size -= 0 if before is None else item_size({name: before})
                    size += 0 if after is None else item_size({name: after})
        if size > ITEM_BYTES_MAX or (
            self.counts_actions and update is not None and update.cost > ITEM_BYTES_MAX
        ):
            raise ValidationException("Item size to update has exceeded the maximum allowed size")
        return size


@final
class LockMet:
    """The outcome of a decision that found an item locked by a transaction, and changed nothing."""

    __slots__ = ("key", "lock", "table")

    def __init__(self, table: Table, key: bytes, lock: Lock) -> None:
        self.table = table
        self.key = key
        self.lock = lock


@final
class SingleWrite:
    """The decision of one item write; the outcome may be a LockMet, or Costly."""

    __slots__ = ("fences", "keys", "write")

    def __init__(self, write: ItemWrite, now: float) -> None:
        self.write = write
        write.time = now
        table = write.table
        self.fences: Sequence[Fence] = table.fences
        item = write.row_key
        self.keys: Sequence[RowKey] = (
            (item, collection_key(write)) if table.local_indexes else (item,)
        )
        if table.filling:
            self.keys = [*self.keys, *write.mark_keys()]
        if table.has_locks:
            self.keys = [*self.keys, lock_row(item)]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        if self.write.table.has_locks and rows[-1] is not None:
            return Changes(LockMet(self.write.table, self.write.key, unpack_lock(rows[-1])))
        row = rows[0]
        is_large = row is not None and len(row) > COSTLY_BYTES
        if (is_large or self.write.is_bulky) and is_costly(self.write, row):
            return Changes(Costly([(self.write, row)]))
        changes = Changes()
        if self.write.table.filling:
            self.write.see_marks(dict(zip(self.keys, rows, strict=True)))
        outcome = self.write.apply(row, changes)
        changes.outcome = outcome
        if self.write.table.local_indexes:
            change_collections([(self.keys[1], outcome)], {self.keys[1]: rows[1]}, changes)
        return changes


@final
class GroupWrite:
    """The decision of several writes to different items: all of them, or none.

    In a transaction a failed condition or a write refused by a ValidationException leaves
    everything as it was, and the outcome is the list of outcomes with the exceptions in their
    places. Otherwise a refusal is raised as it comes. A throttled write is an outcome in both. With
    a token the outcome is None when this very request was carried out before. The outcome is a
    LockMet if an item is locked by another attempt than the one given, and Costly if the decision
    takes too long.
    """

    __slots__ = ("_attempt", "fences", "is_transaction", "keys", "token", "writes")

    def __init__(
        self,
        writes: Sequence[ItemWrite],
        *,
        is_transaction: bool,
        now: float,
        token: TokenCheck | None = None,
        attempt: bytes = b"",
    ) -> None:
        self._attempt = attempt
        self.writes = writes
        for write in writes:
            write.time = now
        self.is_transaction = is_transaction
        self.token = token
        self.fences: Sequence[Fence] = list(
            dict.fromkeys([fence for write in writes for fence in write.table.fences])
        )
        keys: list[RowKey] = [write.row_key for write in writes]
        seen: dict[RowKey, None] = {}
        for write in writes:
            if write.table.local_indexes:
                seen[collection_key(write)] = None
        keys.extend(seen)
        for write in writes:
            keys.extend(write.mark_keys())
        keys.extend([lock_row(write.row_key) for write in writes if write.table.has_locks])
        if token is not None:
            keys.extend(token.keys)
        self.keys: Sequence[RowKey] = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        if self.token is not None:
            row = self.token.admit(rows[-2], rows[-1])
            if row is None:
                return changes  # this very request was carried out before
            changes.puts.append((*self.token.keys[0], row))
        before = dict(zip(self.keys, rows, strict=True))
        met = self._find_lock(before)
        if met is not None:
            return Changes(met)
        costly = too_costly(list(zip(self.writes, rows, strict=False)))
        if costly is not None:
            return Changes(costly)
        outcomes: list[ItemOutcome | ClientError] = []
        for write, old in zip(self.writes, rows, strict=False):
            write.see_marks(before)
            outcomes.append(self._apply(write, old, changes))
        if self.is_transaction and any(not _succeeded(outcome) for outcome in outcomes):
            return Changes(outcomes)
        collections = [
            (collection_key(write), outcome)
            for write, outcome in zip(self.writes, outcomes, strict=True)
            if write.table.local_indexes and isinstance(outcome, ItemOutcome)
        ]
        change_collections(collections, before, changes)
        changes.outcome = outcomes
        return changes

    def _find_lock(self, rows: dict[RowKey, bytes | None]) -> LockMet | None:
        for write in self.writes:
            row = rows[lock_row(write.row_key)] if write.table.has_locks else None
            if row is not None and (lock := unpack_lock(row)).attempt != self._attempt:
                return LockMet(write.table, write.key, lock)
        return None

    def _apply(
        self, write: ItemWrite, row: bytes | None, changes: Changes
    ) -> ItemOutcome | ClientError:
        try:
            return write.apply(row, changes)
        except ThroughputError as refusal:
            return refusal
        except ValidationException as refusal:
            if not self.is_transaction:
                raise
            return refusal


def _succeeded(outcome: ItemOutcome | ClientError) -> bool:
    return isinstance(outcome, ItemOutcome) and outcome.matched
