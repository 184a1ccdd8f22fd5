"""Shard iterators and sequence numbers as clients see them.

An iterator is the stream's ARN, a format number and a sealed position, joined by bars:

position := shard (4 bytes) sequence (8) time in milliseconds (8) flags (1) CRC-32 of all before (4)

all big-endian, in base64. The checksum guards against mistakes, not against forgery: a client that
may read the stream may read it from any position.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Final, final

from hashrange.errors import ExpiredIteratorException, ValidationException
from hashrange.limits import SHARD_ITERATOR_SECONDS
from hashrange.quick_zlib import crc32
from hashrange.storage.stream_records import FIRST_SEQUENCE

_POSITION: Final = struct.Struct(">IQQB")
_FROM_HORIZON: Final = 1
_FORMAT: Final = "1"


def read_sequence(text: str) -> int:
    """Return the number of a client's sequence number; negative when it cannot be one of ours."""
    if not text.isascii() or not text.isdecimal():
        raise ValidationException(
            "One or more parameter values were invalid: Invalid SequenceNumber"
        )
    return int(text) - FIRST_SEQUENCE


@final
class ShardIterator:
    """A position in a shard, and the time at which it was issued."""

    __slots__ = ("arn", "from_horizon", "position", "shard", "time")

    def __init__(
        self, arn: str, shard: int, position: int, time: float, *, from_horizon: bool = False
    ) -> None:
        self.arn = arn
        self.shard = shard
        self.position = position
        self.time = time
        self.from_horizon = from_horizon

    def pack(self) -> str:
        """Return it as clients see it."""
        flags = _FROM_HORIZON if self.from_horizon else 0
        content = _POSITION.pack(self.shard, self.position, int(self.time * 1000), flags)
        sealed = content + crc32(self.arn.encode() + content).to_bytes(4, "big")
        return f"{self.arn}|{_FORMAT}|{base64.b64encode(sealed).decode()}"

    @classmethod
    def unpack(cls, text: str, now: float) -> ShardIterator:
        """Return the iterator a client holds, unless it is too old."""
        try:
            arn, kind, sealed = text.split("|")
            content = base64.b64decode(sealed, validate=True)
            shard, position, time, flags = _POSITION.unpack(content[:-4])
        except (ValueError, binascii.Error, struct.error):
            raise _invalid() from None
        seal = crc32(arn.encode() + content[:-4]).to_bytes(4, "big")
        if kind != _FORMAT or content[-4:] != seal:
            raise _invalid()
        if now - time / 1000 > SHARD_ITERATOR_SECONDS:
            raise ExpiredIteratorException("The provided iterator exceeds the maximum age allowed.")
        return cls(arn, shard, position, time / 1000, from_horizon=bool(flags & _FROM_HORIZON))


def _invalid() -> ValidationException:
    return ValidationException("Invalid ShardIterator")
