"""The store of identities: one space with one shard, changed by decisions, announced to all.

identity row  := Identity as JSON         under "u", "g" or "r" account 0 name in lower case
policy row    := ManagedPolicy as JSON    under "p" account 0 name in lower case
key row       := AccessKey as JSON        under "k" access key id
version row   := a number in decimal      under "v"; moves with every change
check row     := a known text, sealed     under "c"; opens with the right server key only

Names are unique whatever the case of their letters, as in IAM. Each process reads the version row
when the engine's change counter has moved, and all rows when the version has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Engine, Fence, Row, RowKey
from hashrange.identities.directory import Directory
from hashrange.identities.records import (
    AccessKey,
    Identity,
    Kind,
    ManagedPolicy,
    Record,
    pack,
    unpack,
)
from hashrange.sealing import SealError, Vault

STORE: Final = "identities"

_VERSION: Final = b"v"
_CHECK: Final = b"c"
_CHECK_PURPOSE: Final = "key check"
_PAGE_ROWS: Final = 500
_PAGE_BYTES: Final = 1 << 20
_EVERYTHING: Final = (b"", b"\xff")

Key = bytes
Rows = dict[Key, Record | None]

Editor = Callable[[Rows], Rows]
"""A pure function from records as they are to those that change; None deletes one."""


def identity_key(kind: Kind, account: str, name: str) -> Key:
    """Return where a user, group or role is."""
    return f"{kind[0]}{account}\x00{name.lower()}".encode()


def policy_key(account: str, name: str) -> Key:
    """Return where a managed policy is."""
    return f"p{account}\x00{name.lower()}".encode()


def access_key_key(id: str) -> Key:
    """Return where an access key is."""
    return b"k" + id.encode()


@final
class IdentityStore:
    """The identities of all accounts; one per process.

    `vault` protects their secrets. The store is made before the data is there: see `open`.
    """

    _engine: Engine

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self._counter = -1
        self.directory = Directory(-1)

    def open(self, engine: Engine) -> None:
        """Keep identities on an engine."""
        self._engine = engine

    @property
    def is_current(self) -> bool:
        """Whether nothing was announced since the directory was read."""
        return self._engine.counter() == self._counter

    def freshness(self) -> tuple[Callable[[], int], int]:
        """Return the engine's change counter, and its value when the directory was read."""
        return self._engine.counter, self._counter

    async def refresh(self) -> Directory:
        """Return the directory as it is now."""
        counter = self._engine.counter()
        if counter != self._counter:
            (row,) = await self._engine.read([(STORE, 0, _VERSION)], STRONG)
            version = 0 if row is None else int(row)
            if version != self.directory.version:
                self.directory = await self._read(version)
            self._counter = counter
        return self.directory

    async def _read(self, version: int) -> Directory:
        directory = Directory(version)
        lower, upper = _EVERYTHING
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            _add(directory, rows)
            if ended:
                return directory
            lower = rows[-1][0] + b"\x00"

    async def is_key_right(self) -> bool:
        """Tell whether the server's key is the one that secrets were sealed with."""
        sealed = self.vault.seal(_CHECK_PURPOSE, "", b"hashrange")
        kept = await self._engine.write(_KeyCheck(sealed))
        assert isinstance(kept, str)
        try:
            self.vault.open(_CHECK_PURPOSE, "", kept)
        except SealError:
            return False
        return True

    async def change(self, keys: Sequence[Key], edit: Editor) -> None:
        """Change records atomically; what the editor raises refuses the change."""
        await self._engine.write(_Change(keys, edit))
        # The process that changed something sees it in its next request at the latest.
        self._counter = -1
        await self.refresh()


def _add(directory: Directory, rows: list[Row]) -> None:
    for key, row in rows:
        record = _record(key, row)
        if record is not None:
            directory.add(record)


def _record(key: Key, row: bytes | None) -> Record | None:
    if row is None or key in (_VERSION, _CHECK):
        return None
    if key[:1] == b"k":
        return unpack(AccessKey, row)
    return unpack(ManagedPolicy, row) if key[:1] == b"p" else unpack(Identity, row)


@final
class _Change:
    """The decision of one change."""

    def __init__(self, keys: Sequence[Key], edit: Editor) -> None:
        self.fences: Sequence[Fence] = ()
        self._keys = list(keys)
        self.keys: Sequence[RowKey] = [(STORE, 0, key) for key in (_VERSION, *keys)]
        self._edit = edit

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        before = {key: _record(key, row) for key, row in zip(self._keys, rows[1:], strict=True)}
        changes = Changes()
        for key, record in self._edit(before).items():
            if record is None:
                changes.deletes.append((STORE, 0, key))
            else:
                changes.puts.append((STORE, 0, key, pack(record)))
        version = 1 if rows[0] is None else int(rows[0]) + 1
        changes.puts.append((STORE, 0, _VERSION, b"%d" % version))
        changes.creates = [STORE]
        changes.is_announced = True
        return changes


@final
class _KeyCheck:
    """The decision that keeps the check row, unless there is one; its outcome is the row."""

    def __init__(self, sealed: str) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [(STORE, 0, _CHECK)]
        self._sealed = sealed

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        if rows[0] is not None:
            return Changes(rows[0].decode())
        changes = Changes(self._sealed)
        changes.creates = [STORE]
        changes.puts.append((STORE, 0, _CHECK, self._sealed.encode()))
        return changes
