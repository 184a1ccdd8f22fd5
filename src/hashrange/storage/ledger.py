"""The ledger: the state of each transaction that spans several shards. Pure.

entry row := state (1) attempt (16 bytes) time (8 bytes, IEEE 754) digest (32) parts
             under window (8 bytes, big-endian) name
open row  := nothing                             under time (8 bytes, big-endian) key of the entry
name      := "t" account "/" region "/" client token, or "r" and random bytes
parts     := the items the transaction locks, as JSON

The change of an entry from PENDING to COMMITTED or to ABORTED is the one commit point of a
transaction. Each try to carry out a transaction has an attempt id of its own, and a lock whose
attempt is not that of its entry, or whose entry is missing, belongs to an aborted transaction.
Hence an entry is removed or replaced only when its locks are gone.

The entry of a client token also makes the request idempotent. A window is
as long as a token is remembered, as in storage/tokens. An entry has an open row from its beginning
until its locks are known to be gone; those are what the recovery looks for.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, final

import orjson

from hashrange.engine.base import Changes, Fence, RowKey
from hashrange.errors import (
    CorruptionError,
    TransactionInProgressException,
)
from hashrange.limits import CLIENT_TOKEN_SECONDS, TRANSACTION_SECONDS_MAX
from hashrange.quick_zlib import crc32
from hashrange.storage.locks import ATTEMPT_BYTES
from hashrange.storage.tokens import DIGEST_BYTES, mismatch, window_key

LEDGER: Final = "ledger"
OPEN: Final = "ledger.o"
LEDGER_STORES: Final = (LEDGER, OPEN)
LEDGER_SHARDS: Final = 16
"""How many shards the ledger has on every engine; fixed, because it is written nowhere."""

PENDING: Final = 1
COMMITTED: Final = 2
ABORTED: Final = 3
DONE: Final = 4
"""Committed, and no lock is left."""

_WINDOW_BYTES: Final = 8
_TIME_BYTES: Final = 8
_HEADER: Final = struct.Struct(f"<B{ATTEMPT_BYTES}sd{DIGEST_BYTES}s")

Part = tuple[str, str, str, str, bytes]
"""One item: account, region, table, the table's space, and the item's key."""


def entry_row(key: bytes) -> RowKey:
    """Return where an entry is; entries of one name share a shard."""
    return (LEDGER, crc32(key[_WINDOW_BYTES:]) % LEDGER_SHARDS, key)


def open_row(key: bytes, time: float) -> RowKey:
    """Return where an entry that is not closed is listed."""
    _, shard, _ = entry_row(key)
    return (OPEN, shard, open_bound(time) + key)


def open_bound(time: float) -> bytes:
    """Return the key prefix of the open rows of a time: milliseconds since 1970."""
    return max(0, int(time * 1000)).to_bytes(_TIME_BYTES, "big")


def entry_key(open_key: bytes) -> bytes:
    """Return the key of the entry that an open row stands for."""
    return open_key[_TIME_BYTES:]


def is_overdue(time: float, now: float) -> bool:
    """Tell whether a transaction that began at this time is overdue."""
    return now - time > TRANSACTION_SECONDS_MAX


@final
class Entry:
    """The state of a transaction."""

    __slots__ = ("attempt", "digest", "parts", "state", "time")

    def __init__(
        self, state: int, attempt: bytes, time: float, digest: bytes, parts: Sequence[Part]
    ) -> None:
        self.state = state
        self.attempt = attempt
        self.time = time
        self.digest = digest
        self.parts = parts

    def pack(self) -> bytes:
        """Return its row."""
        header = _HEADER.pack(self.state, self.attempt, self.time, self.digest)
        return header + orjson.dumps([[*part[:4], part[4].hex()] for part in self.parts])

    def verdict(self, attempt: bytes) -> int:
        """Return what was decided about an attempt: PENDING, COMMITTED or ABORTED."""
        if self.attempt != attempt:
            return ABORTED
        return COMMITTED if self.state == DONE else self.state


def unpack_entry(row: bytes) -> Entry:
    """Return the entry of a row."""
    try:
        state, attempt, time, digest = _HEADER.unpack_from(row)
        parts: list[Any] = orjson.loads(row[_HEADER.size :])
    except (struct.error, orjson.JSONDecodeError) as error:
        raise CorruptionError(f"row is not a ledger entry: {row[:40]!r}") from error
    found = [(part[0], part[1], part[2], part[3], bytes.fromhex(part[4])) for part in parts]
    return Entry(state, attempt, time, digest, found)


def verdict_of(row: bytes | None, attempt: bytes) -> int:
    """Return the verdict on an attempt."""
    return ABORTED if row is None else unpack_entry(row).verdict(attempt)


@final
class Opening:
    """The decision that begins a transaction.

    The outcome is None when the transaction has begun. Otherwise it is the key and the entry of an
    earlier one of this name: if that is not DONE, its locks have to go before anything else.
    """

    __slots__ = ("_entry", "fences", "keys")

    def __init__(self, name: bytes, entry: Entry) -> None:
        self.fences: Sequence[Fence] = ()
        self._entry = entry
        self.keys: Sequence[RowKey] = tuple(
            entry_row(window_key(entry.time, back=back) + name) for back in (0, 1)
        )

    @property
    def key(self) -> bytes:
        """The key of the entry it makes."""
        return self.keys[0][2]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        mine = self._entry
        for address, row in zip(self.keys, rows, strict=True):
            if row is None:
                continue
            found = unpack_entry(row)
            if found.attempt == mine.attempt:
                return Changes()  # begun before, but the answer was lost
            if self._is_in_the_way(found):
                return Changes((address[2], found))
        changes = Changes()
        changes.puts.append((*self.keys[0], mine.pack()))
        changes.puts.append((*open_row(self.key, mine.time), b""))
        return changes

    def _is_in_the_way(self, found: Entry) -> bool:
        """Tell whether an entry must be looked at first; raise if it forbids this transaction."""
        is_young = self._entry.time - found.time <= CLIENT_TOKEN_SECONDS
        if is_young and found.state != ABORTED and found.digest != self._entry.digest:
            raise mismatch()
        if found.state == PENDING and not is_overdue(found.time, self._entry.time):
            raise TransactionInProgressException(
                "The transaction with the given request token is already in progress."
            )
        return found.state != DONE or is_young


@final
class Verdict:
    """The decision that commits or aborts an attempt, unless that was decided already.

    The outcome is the verdict that is in force.
    """

    __slots__ = ("_attempt", "_state", "fences", "keys")

    def __init__(self, key: bytes, attempt: bytes, state: int) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (entry_row(key),)
        self._attempt = attempt
        self._state = state

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        verdict = verdict_of(rows[0], self._attempt)
        if verdict != PENDING or rows[0] is None:
            return Changes(verdict)
        entry = unpack_entry(rows[0])
        entry.state = self._state
        changes = Changes(self._state)
        changes.puts.append((*self.keys[0], entry.pack()))
        return changes


@final
class Closing:
    """The decision that notes that no lock of an attempt is left.

    The entry itself stays if it is the memory of a client token.
    """

    __slots__ = ("_attempt", "_open", "fences", "keys")

    def __init__(self, key: bytes, attempt: bytes, time: float) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (entry_row(key),)
        self._attempt = attempt
        self._open = open_row(key, time)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.append(self._open)
        if rows[0] is None:
            return changes
        entry = unpack_entry(rows[0])
        if entry.attempt != self._attempt:
            # Replaced under the same key; the one in force has an open row of its own.
            if open_row(self.keys[0][2], entry.time) == self._open:
                return Changes()
            return changes
        assert entry.state != PENDING
        if entry.state == COMMITTED and _is_token(self.keys[0][2]):
            entry.state = DONE
            changes.puts.append((*self.keys[0], entry.pack()))
        elif entry.state != DONE:
            changes.deletes.append(self.keys[0])
        return changes


def token_name(token: str) -> bytes:
    """Return the name of the transaction of a client token."""
    return b"t" + token.encode()


def random_name(attempt: bytes) -> bytes:
    """Return the name of a transaction without a token."""
    return b"r" + attempt


def _is_token(key: bytes) -> bool:
    return key[_WINDOW_BYTES : _WINDOW_BYTES + 1] == b"t"
