"""Client request tokens: a transaction repeated within ten minutes is carried out once.

token row := time of the first use (8 bytes, IEEE 754, little-endian) SHA-256 of the request

Rows lie in one store under time window, account, region and token. A window is as long as a token
is remembered, so a token is looked for in the current window and the one before, and rows of
older windows can be dropped.

token key := window (8 bytes, big-endian) account "/" region "/" token
"""

from __future__ import annotations

import hashlib
import struct

import orjson

from hashrange.errors import IdempotentParameterMismatchException
from hashrange.limits import CLIENT_TOKEN_SECONDS

TOKEN_STORE = "tokens"

DIGEST_BYTES = 32
_ROW = struct.Struct(f"<d{DIGEST_BYTES}s")


def window_key(now: float, name: str = "", *, back: int = 0) -> bytes:
    """Return the key of a token in the window of a time, or in one `back` windows before."""
    window = int(now // CLIENT_TOKEN_SECONDS) - back
    return window.to_bytes(8, "big") + name.encode()


def mismatch() -> IdempotentParameterMismatchException:
    """Return the error for a different request with a token that was used before."""
    return IdempotentParameterMismatchException(
        "Idempotent parameter mismatch: the request does not match the one the "
        "token was first used with"
    )


class TokenCheck:
    """Checks whether a request with a token is new, repeated, or reuses the token."""

    __slots__ = ("_now", "digest", "keys", "name")

    def __init__(self, name: str, request: object, now: float) -> None:
        self.keys = (
            (TOKEN_STORE, 0, window_key(now, name)),
            (TOKEN_STORE, 0, window_key(now, name, back=1)),
        )
        self.name = name
        self.digest = hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).digest()
        self._now = now

    def admit(self, current: bytes | None, before: bytes | None) -> bytes | None:
        """Return the token's new row, or None if this very request was carried out before."""
        for row in (current, before):
            if row is None:
                continue
            time, digest = _ROW.unpack(row)
            if self._now - time > CLIENT_TOKEN_SECONDS:
                continue
            if digest != self.digest:
                raise mismatch()
            return None
        return _ROW.pack(self._now, self.digest)
