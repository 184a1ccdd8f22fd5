"""The row format of earlier versions of items."""

import pytest

from hashrange.engine.base import Changes
from hashrange.errors import CorruptionError
from hashrange.storage.history import (
    BY_SERVICE,
    Version,
    log_version,
    replaced_row,
    version_time,
)

ROW = b"\x05\x00\x00\x00{}"


def logged(old: bytes | None, flags: int, who: bytes) -> tuple[bytes, bytes]:
    changes = Changes()
    log_version("t.h", ("t", 3, b"key"), old, (1.5, flags, who), changes)
    ((store, shard, prefix, value),) = changes.appends
    assert (store, shard) == ("t.h", 3)
    return prefix + (9).to_bytes(8, "big"), value


def test_a_version_reads_back_as_it_was_logged() -> None:
    key, value = logged(ROW, BY_SERVICE, b"arn:aws:iam::1:user/a")
    assert value.hex() == "000000000000f83f0115" + b"arn:aws:iam::1:user/a".hex() + ROW.hex()
    version = Version(key, value)
    assert (version.key, version.sequence, version.time) == (b"key", 9, 1.5)
    assert (version.old, version.by_service, version.who) == (ROW, True, "arn:aws:iam::1:user/a")
    assert (version_time(value), replaced_row(value)) == (1.5, ROW)


def test_an_insert_replaces_nothing() -> None:
    key, value = logged(None, 0, b"")
    assert len(value) == 10
    version = Version(key, value)
    assert (version.old, version.by_service, version.who) == (None, False, "")
    assert replaced_row(value) is None


def test_a_principal_is_cut_off_at_255_bytes() -> None:
    key, value = logged(ROW, 0, b"x" * 300)
    assert (Version(key, value).who, Version(key, value).old) == ("x" * 255, ROW)


def test_a_row_that_is_none_is_damage() -> None:
    with pytest.raises(CorruptionError):
        Version(b"key" + bytes(8), b"short")
