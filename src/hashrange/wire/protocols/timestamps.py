"""Timestamps of the protocols: epoch seconds, ISO 8601 and the form of HTTP headers."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final

from hashrange.errors import SerializationException

EPOCH_SECONDS: Final = "unixTimestamp"
ISO_8601: Final = "iso8601"
HTTP_DATE: Final = "rfc822"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_TEXT_CHARACTERS_MAX: Final = 64


def from_epoch(seconds: float) -> datetime:
    """Return the time of epoch seconds, to the millisecond."""
    try:
        return _EPOCH + timedelta(milliseconds=round(seconds * 1000))
    except (OverflowError, ValueError):
        raise SerializationException("A timestamp is out of range") from None


def to_epoch(time: datetime) -> float:
    """Return the epoch seconds of a time: an integer if it is whole."""
    milliseconds = (time - _EPOCH) // timedelta(milliseconds=1)
    seconds, rest = divmod(milliseconds, 1000)
    return milliseconds / 1000 if rest else seconds


def read_text(text: str) -> datetime:
    """Return the time of a text in any of the three forms."""
    if len(text) <= _TEXT_CHARACTERS_MAX:
        if _NUMBER.fullmatch(text):
            return from_epoch(float(text))
        for read in (datetime.fromisoformat, parsedate_to_datetime):
            try:
                time = read(text)
                return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
            except (OverflowError, ValueError):
                continue
    raise SerializationException("A timestamp is in none of the known forms")


def read_number(number: float) -> datetime:
    """Return the time of epoch seconds as JSON and CBOR send them."""
    if isinstance(number, bool) or not math.isfinite(number):
        raise SerializationException("A timestamp is not a number of seconds")
    return from_epoch(number)


def write_text(time: datetime, form: str) -> str:
    """Return a time as text in one of the three forms."""
    time = time.astimezone(UTC)
    if form == HTTP_DATE:
        return format_datetime(time, usegmt=True)
    if form == EPOCH_SECONDS:
        return str(to_epoch(time))
    precision = "milliseconds" if time.microsecond else "seconds"
    return time.isoformat(timespec=precision).replace("+00:00", "Z")
