"""Sealed rows open in their own place, with their own key, and nowhere else."""

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hashrange.errors import CorruptionError
from hashrange.limits import ITEM_BYTES_MAX
from hashrange.storage.sealed_rows import MAGIC, RowCipher, SpaceKeys, marker_of

MARKER = b"8 bytes."
CIPHER = RowCipher(MARKER, AESGCM(bytes(32)))
KEYS = SpaceKeys({MARKER: CIPHER}, CIPHER)


def test_a_sealed_row_opens_in_its_place():
    sealed = CIPHER.seal("t1", b"key", b"a planted word")
    assert b"planted" not in sealed
    assert sealed != CIPHER.seal("t1", b"key", b"a planted word")
    assert marker_of(sealed) == MARKER
    assert KEYS.open("t1", b"key", sealed) == b"a planted word"


@pytest.mark.parametrize(("store", "key"), [("t2", b"key"), ("t1", b"other"), ("t1.index", b"key")])
def test_a_sealed_row_in_another_place_is_refused(store, key):
    with pytest.raises(CorruptionError):
        KEYS.open(store, key, CIPHER.seal("t1", b"key", b"row"))


def test_an_appended_row_is_bound_to_its_key_without_the_number():
    sealed = CIPHER.seal_appended("t1.log", b"prefix", b"row")
    assert KEYS.open("t1.log", b"prefix" + bytes(8), sealed) == b"row"
    with pytest.raises(CorruptionError):
        KEYS.open("t1.log", b"others" + bytes(8), sealed)


@pytest.mark.parametrize("position", [12, 13, 30, -1])
def test_a_changed_row_is_refused(position):
    sealed = bytearray(CIPHER.seal("t1", b"a key that is long", b"row"))
    sealed[position] ^= 1
    with pytest.raises(CorruptionError):
        KEYS.open("t1", b"a key that is long", bytes(sealed))


def test_a_row_of_an_unknown_data_key_is_refused_and_a_plain_one_is_not():
    other = RowCipher(b"9 bytes.", AESGCM(bytes(32)))
    with pytest.raises(CorruptionError, match="unknown key"):
        KEYS.open("t1", b"key", other.seal("t1", b"key", b"row"))
    assert KEYS.open("t1", b"key", b"plain") == b"plain"


def test_no_row_of_an_item_begins_like_a_sealed_one():
    assert int.from_bytes(MAGIC, "little") > ITEM_BYTES_MAX


def test_no_two_seals_share_a_nonce():
    nonces = {CIPHER.seal("t1", b"key", b"row")[13:25] for _ in range(100)}
    assert len(nonces) == 100
