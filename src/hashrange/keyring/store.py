"""Where KMS keys and aliases are kept, and how they are found by what requests call them.

key row   := "k" account 0 region 0 id      Key as JSON
alias row := "a" account 0 region 0 name    Alias as JSON
grave row := "g" account 0 region 0 id      Grave as JSON, of a key that was deleted

Every change moves the change counter, so that whoever keeps an opened key looks at it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.keyring.records import (
    Alias,
    Grave,
    Key,
    Record,
    pack,
    unpack_alias,
    unpack_grave,
    unpack_key,
)
from hashrange.sealing import Vault

STORE: Final = "kms"
ALIAS_PREFIX: Final = "alias/"

_ARN: Final = re.compile(r"arn:aws[a-z-]*:kms:([a-z0-9-]+):([0-9]{12}):(?:key/([^/]+)|(alias/.+))")
_UNPACK: Final[dict[bytes, Callable[[bytes], Record]]] = {
    b"a": unpack_alias,
    b"g": unpack_grave,
    b"k": unpack_key,
}
_PAGE_ROWS: Final = 500
_PAGE_BYTES: Final = 1 << 20

Place = tuple[str, str]
"""An account and a region."""

Records = dict[bytes, Record | None]
Editor = Callable[[Records], Records]
"""A pure function from records as they are to those that change; None deletes one."""


def key_row(place: Place, id: str) -> bytes:
    """Return where a key is."""
    return f"k{place[0]}\x00{place[1]}\x00{id}".encode()


def alias_row(place: Place, name: str) -> bytes:
    """Return where an alias is."""
    return f"a{place[0]}\x00{place[1]}\x00{name}".encode()


def grave_row(place: Place, id: str) -> bytes:
    """Return where it says what is left of a deleted key."""
    return f"g{place[0]}\x00{place[1]}\x00{id}".encode()


def split_name(place: Place, name: str) -> tuple[Place, str] | None:
    """Return where a key or alias is, and its id or alias name; None if an ARN is none of KMS."""
    if not name.startswith("arn:"):
        return place, name
    match = _ARN.fullmatch(name)
    if match is None:
        return None
    return (match.group(2), match.group(1)), match.group(3) or match.group(4)


@final
class KeyStore:
    """The keys of all accounts and regions; `vault` protects their material."""

    _engine: Engine

    def __init__(self, vault: Vault) -> None:
        self.vault = vault

    def open(self, engine: Engine) -> None:
        """Keep keys on an engine."""
        self._engine = engine

    async def key(self, place: Place, id: str) -> Key | None:
        """Return a key by its id."""
        (row,) = await self._engine.read([(STORE, 0, key_row(place, id))], STRONG)
        return None if row is None else unpack_key(row)

    async def alias(self, place: Place, name: str) -> Alias | None:
        """Return an alias by its name."""
        (row,) = await self._engine.read([(STORE, 0, alias_row(place, name))], STRONG)
        return None if row is None else unpack_alias(row)

    async def grave(self, place: Place, id: str) -> Grave | None:
        """Return what is left of a key that was deleted."""
        (row,) = await self._engine.read([(STORE, 0, grave_row(place, id))], STRONG)
        return None if row is None else unpack_grave(row)

    async def find(self, place: Place, name: str, now: float) -> Key | None:
        """Return the key that an account means by an id, an alias or the ARN of either."""
        found = split_name(place, name)
        if found is None:
            return None
        place, name = found
        if name.startswith(ALIAS_PREFIX):
            alias = await self.alias(place, name)
            if alias is None:
                return None
            name = alias.key_id
        key = await self.key(place, name)
        return None if key is None or key.is_gone(now) else key

    async def keys(self, place: Place | None = None) -> list[Key]:
        """Return the keys of an account in a region, or all there are."""
        prefix = b"k" if place is None else key_row(place, "")
        return [unpack_key(row) for row in await self._rows(prefix)]

    async def aliases(self, place: Place) -> list[Alias]:
        """Return the aliases of an account in a region."""
        return [unpack_alias(row) for row in await self._rows(alias_row(place, ""))]

    async def change(self, rows: Sequence[bytes], edit: Editor) -> None:
        """Change records atomically; what the editor raises refuses the change."""
        await self._engine.write(_Change(rows, edit))

    async def _rows(self, prefix: bytes) -> list[bytes]:
        found: list[bytes] = []
        lower, upper = prefix, prefix[:-1] + bytes([prefix[-1] + 1])
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
            found.extend(row for _, row in rows)
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"


@final
class _Change:
    """The decision of one change."""

    def __init__(self, rows: Sequence[bytes], edit: Editor) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [(STORE, 0, row) for row in rows]
        self._edit = edit

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        before: Records = {}
        for (_, _, key), row in zip(self.keys, rows, strict=True):
            before[key] = None if row is None else _UNPACK[key[:1]](row)
        changes = Changes()
        for key, record in self._edit(before).items():
            if record is None:
                changes.deletes.append((STORE, 0, key))
            else:
                changes.puts.append((STORE, 0, key, pack(record)))
        changes.creates = [STORE]
        changes.is_announced = True
        return changes
