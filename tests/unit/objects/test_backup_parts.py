"""Parts of backups: they read back in pieces of any length, and damage is told from a wrong key."""

import random
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hashrange.objects.backup_parts import BackupDamagedError, Entry, PartOpener, PartPacker

KEY = bytes(range(32))
CIPHER = AESGCM(bytes(32))
SUBJECT = "id/part-00000"
ENTRIES: list[Entry] = [
    (b"key%d" % number, random.Random(number).randbytes(number * 40)) for number in range(200)
]
FORMS = [(None, None), (KEY, None), (None, CIPHER), (KEY, CIPHER)]


def pack(key: bytes | None, cipher: AESGCM | None) -> tuple[bytes, dict[str, Any]]:
    """Return the file of a part, and the manifest that tells of it."""
    packer = PartPacker(SUBJECT, key, cipher)
    pieces = [packer.add(ENTRIES[start : start + 7]) for start in range(0, len(ENTRIES), 7)]
    content = b"".join([*pieces, packer.finish()])
    data_key = None if cipher is None else {"key": "of the table"}
    part = {"name": "part-00000", **packer.facts()}
    return content, {"parts": [part], "is_sealed": key is not None, "data_key": data_key}


def unpack(
    content: bytes,
    manifest: dict[str, Any],
    key: bytes | None,
    cipher: AESGCM | None,
    piece_bytes: int = 1000,
) -> list[Entry]:
    opener = PartOpener(SUBJECT, manifest, 0, key, cipher)
    entries: list[Entry] = []
    for start in range(0, len(content), piece_bytes):
        entries += opener.update(content[start : start + piece_bytes])
    return entries + opener.finish()


@pytest.mark.parametrize(("key", "cipher"), FORMS)
@pytest.mark.parametrize("piece_bytes", [1, 999, 10_000_000])
def test_a_part_reads_back(key: bytes | None, cipher: AESGCM | None, piece_bytes: int) -> None:
    content, manifest = pack(key, cipher)
    part = manifest["parts"][0]
    assert (part["items"], part["bytes"]) == (len(ENTRIES), len(content))
    assert unpack(content, manifest, key, cipher, piece_bytes) == ENTRIES


def test_entries_come_before_all_is_read() -> None:
    content, manifest = pack(KEY, None)
    opener = PartOpener(SUBJECT, manifest, 0, KEY, None)
    first = opener.update(content[: len(content) // 2])
    assert 0 < len(first) < len(ENTRIES)


@pytest.mark.parametrize(("key", "cipher"), FORMS)
def test_damage_is_told_from_a_wrong_key(key: bytes | None, cipher: AESGCM | None) -> None:
    content, manifest = pack(key, cipher)
    for position in (3, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[position] ^= 1
        with pytest.raises(BackupDamagedError, match="is damaged"):
            unpack(bytes(damaged), manifest, key, cipher)
    with pytest.raises(BackupDamagedError, match="is damaged"):
        unpack(content[:-1], manifest, key, cipher)
    if key is not None:
        with pytest.raises(BackupDamagedError, match="another key"):
            unpack(content, manifest, bytes(32), cipher)
        with pytest.raises(BackupDamagedError, match="has no key"):
            unpack(content, manifest, None, cipher)


def test_a_manifest_that_does_not_fit_is_noticed() -> None:
    content, manifest = pack(None, None)
    manifest["parts"][0]["items"] += 1
    with pytest.raises(BackupDamagedError, match="holds 200 items, not 201"):
        unpack(content, manifest, None, None)


def test_without_the_key_of_its_table_a_part_is_only_checked() -> None:
    content, manifest = pack(None, CIPHER)
    assert unpack(content, manifest, None, None) == []
    with pytest.raises(BackupDamagedError, match="is damaged"):
        unpack(content[:-1], manifest, None, None)
