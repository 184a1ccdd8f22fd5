"""The catalog: every table's record, kept in one store and shared by all processes.

record row    := "t" world name             TableRecord as JSON
count row     := "n" world                  how many tables the world has, in decimal
fill row      := "b" world name 0 index     how far the filling of a new index has come
expiry row    := "e" world name             nothing; there while items of the table expire
index row     := "g" world name             nothing; there while its global indexes need a follower
backup row    := "k" world id 0 name        BackupRecord as JSON, see storage/backups
history row   := "p" world name             nothing; there while the table keeps its history
stream row    := "s" world name 0 label     StreamRecord as JSON, see storage/streams
sealing row   := "z" world name 0 store     the spaces that are sealed, see storage/sealed_engine
world         := account 0 region 0

Keys are ASCII and ordered as the names are, so a page of ListTables is a range. A change reads the
record inside its decision, so concurrent changes by several processes are safe. A change that the
data path can see raises the version of the table, which fences decisions built on the old version.
It also raises the change counter, which each process compares on every request; when the counter
has moved, the process reads the records of tables again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hashrange.clock import Clock
from hashrange.engine.base import STRONG, Capabilities, Changes, Engine, Fence, RowKey
from hashrange.errors import (
    AccessDeniedException,
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.limits import (
    TABLE_NAME_CHARACTERS_MAX,
    TABLE_NAME_CHARACTERS_MIN,
    TABLES_PER_ACCOUNT_MAX,
)
from hashrange.model.keys import successor
from hashrange.model.records import (
    TIME_TO_LIVE_FILL,
    TableRecord,
    TimeToLive,
    make_table,
    unpack_record,
)
from hashrange.model.schema import Table
from hashrange.model.streams import StreamRecord
from hashrange.storage.catalog_followup import (
    Sequel,
    equip,
    extra_stores,
    follow_up,
    shared_stores,
)
from hashrange.storage.delays import REALISTIC as REALISTIC
from hashrange.storage.delays import Delays as Delays
from hashrange.storage.meters import Meters
from hashrange.storage.sealed_engine import CATALOG
from hashrange.storage.sealed_spaces import list_sealed
from hashrange.storage.tokens import TOKEN_STORE

STORE: Final = CATALOG

_is_table: Final = re.compile(
    r"(?:arn:[^:/]*:dynamodb:[^:/]*:[^:/]*:table/)?"
    rf"[a-zA-Z0-9_.-]{{{TABLE_NAME_CHARACTERS_MIN},{TABLE_NAME_CHARACTERS_MAX}}}"
).fullmatch
_ARN: Final = re.compile(r"arn:aws[a-z-]*:dynamodb:([^:/]+):([^:/]+):table/([^:/]+)")
_PAGE_ROWS: Final = 200
_BUILT_MAX: Final = 5000  # beyond which tables that are gone are forgotten with the others
_PAGE_BYTES: Final = 1 << 20


@dataclass(slots=True)
class Edit:
    """The result of a change to a record; a record of None deletes it."""

    record: TableRecord | None
    creates: list[str] = field(default_factory=list)
    drops: list[str] = field(default_factory=list)
    # Names of indexes whose filling is to begin, and of those for which it ends.
    fills: list[str] = field(default_factory=list)
    fills_ended: list[str] = field(default_factory=list)
    # A stream to be written to a row of its own, and what to append to its log.
    stream: StreamRecord | None = None
    marks: list[tuple[int, bytes]] = field(default_factory=list)  # shards of the store, prefixes
    # Other rows of the catalog to be written in the same step: keys and values.
    rows: list[tuple[bytes, bytes]] = field(default_factory=list)
    # False for what only descriptions show.
    is_seen_by_requests: bool = True
    outcome: object = None


Editor = Callable[[TableRecord | None], Edit]
"""A pure function from the record as it is (None when there is no such table) to an edit."""


def end_expiry_fill(setting: TimeToLive) -> Editor:
    """Return the editor that marks the expiry index of a setting as filled."""

    def end(record: TableRecord | None) -> Edit:
        current = None if record is None else record.time_to_live
        if record is None or current is None or current.changed_at != setting.changed_at:
            raise ResourceNotFoundException
        current.is_filled = True
        return Edit(record, fills_ended=[TIME_TO_LIVE_FILL])

    return end


@final
class Catalog:
    """The tables of all accounts and regions."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        delays: Delays | None = None,
        *,
        is_shared: bool = False,
        meters: Meters | None = None,
    ) -> None:
        self.delays = delays or Delays()
        # Whether accounts may use tables of others by ARN, because policies decide about it.
        self.is_shared = is_shared
        self._meters = meters
        self._engine = engine
        self._clock = clock
        self._counter = -1
        self._tables: dict[tuple[str, str, str], Table] = {}
        # Tables built before the counter moved, with the rows they were built from.
        self._built: dict[bytes, tuple[bytes, Table]] = {}

    def known_table(self, account: str, region: str, name: str) -> Table | None:
        """Return an active table if it was used since the catalog last changed."""
        if self._engine.counter() != self._counter:
            return None
        return self._tables.get((account, region, name))

    async def table(self, account: str, region: str, name: str) -> Table:
        """Return an active table for the data path, by its name or ARN.

        Most requests avoid this coroutine by calling `known_table` first.
        """
        table = self.known_table(account, region, name)
        if table is not None:
            return table
        counter = self._engine.counter()
        if counter != self._counter:
            self._tables.clear()
            self._counter = counter
            if len(self._built) > _BUILT_MAX:
                self._built.clear()
        key = record_key(*self.locate(account, region, name))
        (row,) = await self._engine.read([(STORE, 0, key)], STRONG)
        built = self._built.get(key)
        if row is None:
            self._built.pop(key, None)
            raise ResourceNotFoundException("Requested resource not found")
        if built is None or built[0] != row:
            record = unpack_record(row)
            if not record.takes_items(self._clock.now()):
                raise ResourceNotFoundException("Requested resource not found")
            built = (row, equip(make_table(record), self._engine.capabilities))
            if self._meters is not None:
                self._meters.equip(built[1], record)
            self._built[key] = built
        table = built[1]
        if self._counter == counter:
            self._tables[(account, region, name)] = table
        return table

    async def record(self, account: str, region: str, name: str) -> TableRecord:
        """Return a table's record for the control plane, by its name or ARN."""
        account, region, name = self.locate(account, region, name)
        found = await self.find(account, region, name)
        if found is None:
            raise table_not_found(name)
        return found

    def locate(self, account: str, region: str, name: str) -> tuple[str, str, str]:
        """Return account, region and name of the table that an account means by a name or ARN."""
        if self.is_shared and ":" in name:
            parts = split_table_arn(name)
            if parts is None or parts[1] != region:
                raise ResourceNotFoundException("Requested resource not found")
            return parts
        return account, region, resolve_name(account, region, name)

    async def find(self, account: str, region: str, name: str) -> TableRecord | None:
        """Return a table's record, if there is such a table."""
        key = record_key(account, region, name)
        (row,) = await self._engine.read([(STORE, 0, key)], STRONG)
        return _present(row, self._clock.now())

    async def names(
        self, account: str, region: str, *, after: str | None, names_max: int
    ) -> tuple[list[str], bool]:
        """Return a page of table names in order, and whether there are more."""
        world = _world(account, region)
        upper = successor(b"t" + world)
        lower = b"t" + world if after is None else record_key(account, region, after) + b"\x00"
        now = self._clock.now()
        names: list[str] = []
        rows_max = min(_PAGE_ROWS, names_max + 1)
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=False,
                rows_max=rows_max,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            for _, row in rows:
                record = _present(row, now)
                if record is None:
                    continue
                if len(names) == names_max:
                    return names, True
                names.append(record.name)
            if ended:
                return names, False
            lower = rows[-1][0] + b"\x00"

    async def tables(self) -> list[tuple[str, str, str]]:
        """Return all tables: account, region and name."""
        return [(account, region, name) for account, region, name in await self._parts(b"t")]

    async def fills(self) -> list[tuple[str, str, str, str]]:
        """Return the indexes being filled: account, region, table and index name."""
        return [
            (account, region, table, index)
            for account, region, table, index in await self._parts(b"b")
        ]

    async def expiring(self) -> list[tuple[str, str, str]]:
        """Return the tables whose items expire: account, region and name."""
        return [(account, region, name) for account, region, name in await self._parts(b"e")]

    async def recording(self) -> list[tuple[str, str, str]]:
        """Return the tables that keep their history: account, region and name."""
        return [(account, region, name) for account, region, name in await self._parts(b"p")]

    async def indexed(self) -> dict[str, tuple[int, tuple[str, str, str]]]:
        """Return the spaces that need an index follower: their shards, and whose table it is."""
        found: dict[str, tuple[int, tuple[str, str, str]]] = {}
        for account, region, name in await self._parts(b"g"):
            record = await self.find(account, region, name)
            if record is not None:
                found[record.store] = record.shards, (account, region, name)
        return found

    async def index_stores(self) -> set[str]:
        """Return the stores of the global indexes that need a follower."""
        found: set[str] = set()
        for account, region, name in await self._parts(b"g"):
            record = await self.find(account, region, name)
            if record is not None and record.gone_at is None:
                found.update(index.store for index in record.indexes if index.gone_at is None)
        return found

    async def _parts(self, kind: bytes) -> list[list[str]]:
        """Return what the keys of all rows of a kind are made of."""
        found: list[list[str]] = []
        lower = kind
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                successor(kind),
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            found.extend(key[1:].decode().split("\x00") for key, _ in rows)
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"

    async def change(self, account: str, region: str, name: str, edit: Editor) -> object:
        """Change a table's record, atomically; return the edit's outcome.

        An exception raised by the editor refuses the change.
        """
        capabilities = self._engine.capabilities
        decision = _RecordChange((account, region, name), edit, self._clock.now(), capabilities)
        outcome = await self._engine.write(decision)
        if isinstance(outcome, Sequel):
            await follow_up(self._engine, outcome)
            return outcome.outcome
        return outcome

    async def fence(self, record: TableRecord) -> None:
        """Fence decisions built on earlier records of a table, if that was not done yet."""
        if not self._engine.capabilities.atomic_across_shards:
            await self._engine.fence(record.store, record.shards, record.version)


@final
class _RecordChange:
    """The decision of one change to one record."""

    __slots__ = (
        "_account",
        "_capabilities",
        "_edit",
        "_name",
        "_now",
        "_region",
        "fences",
        "keys",
    )

    def __init__(
        self, where: tuple[str, str, str], edit: Editor, now: float, capabilities: Capabilities
    ) -> None:
        self._account, self._region, self._name = account, region, name = where
        self._capabilities = capabilities
        self._edit = edit
        self._now = now
        # The decision sees the record itself, so it may be built on any version.
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (
            (STORE, 0, record_key(account, region, name)),
            (STORE, 0, b"n" + _world(account, region)),
        )

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        before = _present(rows[0], self._now)
        # Now, because editors work in place.
        counted, expired, indexed = _counts(before), _expires(before), _is_indexed(before)
        recorded = _is_recorded(before)
        sealed = None if before is None else before.sealed_spaces()
        version = 1 if before is None else before.version + 1
        edit = self._edit(before)
        changes = Changes(edit.outcome)
        changes.creates = edit.creates
        if rows[0] is None and rows[1] is None:  # perhaps the first table of all
            shared = shared_stores(self._capabilities)
            changes.creates = [STORE, TOKEN_STORE, *shared, *edit.creates]
        changes.drops = edit.drops
        if before is None and edit.record is not None:
            changes.creates = changes.creates + extra_stores(edit.record, self._capabilities)
        if before is not None and counted and not _counts(edit.record):
            changes.drops = changes.drops + extra_stores(before, self._capabilities)
        changes.is_announced = edit.is_seen_by_requests
        changed = edit.record or before
        if changed is not None and edit.is_seen_by_requests:
            changed.version = version
            changes.fences.append((changed.store, version))
        if edit.record is not None:
            changes.puts.append((*self.keys[0], edit.record.pack()))
        elif rows[0] is not None:
            changes.deletes.append(self.keys[0])
        changes.puts.extend((STORE, 0, key, row) for key, row in edit.rows)
        self._count(rows[1], _counts(edit.record) - counted, changes)
        if _expires(edit.record) != expired:
            self._list(b"e", changes, listed=not expired)
        if _is_recorded(edit.record) != recorded:
            self._list(b"p", changes, listed=not recorded)
        list_sealed(sealed, edit.record, changes)
        is_indexed = _is_indexed(edit.record)
        if is_indexed != indexed and not self._capabilities.indexes_in_step:
            self._list(b"g", changes, listed=is_indexed)
        for index in edit.fills:
            changes.puts.append((STORE, 0, self._fill_key(index), b""))
        for index in edit.fills_ended:
            changes.deletes.append((STORE, 0, self._fill_key(index)))
        stream = edit.stream
        if stream is not None:
            row_key = stream_key(self._account, self._region, self._name, stream.label)
            changes.puts.append((STORE, 0, row_key, stream.pack()))
            changes.appends.extend((stream.store, shard, mark, b"") for shard, mark in edit.marks)
        return changes if self._capabilities.atomic_across_shards else self._part(changes, changed)

    def _part(self, changes: Changes, record: TableRecord | None) -> Changes:
        """Move changes outside the catalog to the sequel."""
        sequel = Sequel(changes.outcome, self.keys[0], drops=changes.drops)
        if record is not None and changes.fences:
            sequel.fence = (record.store, record.shards, record.version)
        if changes.appends:
            marks = [(shard, mark) for _, shard, mark, _ in changes.appends]
            sequel.marks = (changes.appends[0][0], marks)
        changes.outcome = sequel
        changes.drops, changes.fences, changes.appends = [], [], []
        return changes

    def _count(self, row: bytes | None, added: int, changes: Changes) -> None:
        if not added:
            return
        count = (0 if row is None else int(row)) + added
        if added > 0 and count > TABLES_PER_ACCOUNT_MAX:
            raise LimitExceededException(
                "Subscriber limit exceeded: There is a limit of "
                f"{TABLES_PER_ACCOUNT_MAX} tables per subscriber"
            )
        changes.puts.append((*self.keys[1], b"%d" % count))

    def _list(self, kind: bytes, changes: Changes, *, listed: bool) -> None:
        key = kind + _world(self._account, self._region) + self._name.encode()
        if listed:
            changes.puts.append((STORE, 0, key, b""))
        else:
            changes.deletes.append((STORE, 0, key))

    def _fill_key(self, index: str) -> bytes:
        return fill_key(self._account, self._region, self._name, index)


def _counts(record: TableRecord | None) -> bool:
    return record is not None and record.gone_at is None


def _expires(record: TableRecord | None) -> bool:
    return record is not None and record.gone_at is None and record.expires


def _is_recorded(record: TableRecord | None) -> bool:
    return record is not None and record.gone_at is None and record.recovery is not None


def _is_indexed(record: TableRecord | None) -> bool:
    if record is None or record.gone_at is not None:
        return False
    return any(index.is_global for index in record.indexes)


def _world(account: str, region: str) -> bytes:
    return f"{account}\x00{region}\x00".encode()


def record_key(account: str, region: str, name: str) -> bytes:
    """Return where a table's record is."""
    return b"t" + _world(account, region) + name.encode()


def fill_key(account: str, region: str, name: str, index: str) -> bytes:
    """Return where the progress of filling an index is."""
    return b"b" + _world(account, region) + f"{name}\x00{index}".encode()


def streams_prefix(*world: str) -> bytes:
    """Return the key prefix of stream rows: of all, of one account and region, or of one table."""
    return b"s" + "".join(f"{name}\x00" for name in world).encode()


def stream_key(account: str, region: str, table: str, label: str) -> bytes:
    """Return where a stream's row is."""
    return streams_prefix(account, region, table) + label.encode()


def _present(row: bytes | None, now: float) -> TableRecord | None:
    if row is None:
        return None
    record = unpack_record(row)
    return None if record.gone_at is not None and record.gone_at <= now else record


def split_table_arn(arn: str) -> tuple[str, str, str] | None:
    """Return account, region and name of a table's ARN, None if it is none.

    What authorises a request and what carries it out must read an ARN alike, so both use this.
    """
    match = _ARN.fullmatch(arn)
    return None if match is None else (match.group(2), match.group(1), match.group(3))


def resolve_name(account: str, region: str, name: str) -> str:
    """Return the table name meant by a name or an ARN that an account uses in a region."""
    if _is_table(name) is None:
        # Only statements come here with such names; elsewhere the shapes of requests refuse them.
        raise ValidationException(
            "Invalid table/index name.  Table/index names must be between 3 and 255 characters "
            "long, and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'"
        )
    if ":" in name:
        arn, _, name = name.partition("/")
        _, _, _, arn_region, arn_account, _ = arn.split(":")
        if arn_account != account:
            raise AccessDeniedException(
                f"User: arn:aws:iam::{account}:root is not authorized to access the resource: "
                f"{arn}/{name} because no resource-based policy allows it"
            )
        if arn_region != region:
            raise ResourceNotFoundException("Requested resource not found")
    return name


def table_not_found(name: str) -> ResourceNotFoundException:
    """Return the control plane's error for an absent table."""
    return ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
