"""How buckets and keys are named as files, so that no name leaves its folder. Pure.

A bucket is a folder, an object a file below it: the parts of its key between slashes are folders
and the file. What a file system might read otherwise is escaped as %XX: the per cent sign, control
characters, a leading dot, and a part that is empty is a lone "%". Other files in a bucket's folder
are objects too, so people can copy files in and out; names that begin with a dot are ours.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from hashrange.limits import OBJECT_KEY_BYTES_MAX
from hashrange.objects.base import ObjectStoreError

_is_bucket: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]").fullmatch
_is_address: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}").fullmatch
_ESCAPED: Final = re.compile("[%\x00-\x1f\x7f\\\\]|^\\.")
_EMPTY: Final = "%"
_PART_BYTES_MAX: Final = 255


def check_bucket_name(name: str) -> None:
    """Raise ObjectStoreError unless a bucket may have this name."""
    if _is_bucket(name) is None or ".." in name or _is_address(name) is not None:
        raise ObjectStoreError("InvalidBucketName", "The specified bucket is not valid.")


def key_parts(key: str) -> list[str]:
    """Return the names of the folders and of the file of an object."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise ObjectStoreError("InvalidURI", "Couldn't parse the specified URI.") from error
    if not key or size > OBJECT_KEY_BYTES_MAX:
        raise ObjectStoreError("KeyTooLongError", "Your key is too long")
    parts = [_ESCAPED.sub(_escape, part) or _EMPTY for part in key.split("/")]
    if any(len(part.encode()) > _PART_BYTES_MAX for part in parts):
        raise ObjectStoreError("KeyTooLongError", "A part of your key is too long for a file name")
    return parts


def key_part(name: str) -> str:
    """Return the part of a key that a file name stands for."""
    return "" if name == _EMPTY else unquote(name)


def _escape(match: re.Match[str]) -> str:
    return f"%{ord(match.group()):02X}"
