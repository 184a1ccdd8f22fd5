"""Sealed streams open whole and in order, or not at all."""

from __future__ import annotations

import os

import pytest

from hashrange.sealing import SealError, StreamOpener, StreamSealer, open_stream, seal_stream

KEY = bytes(range(32))
CHUNK = 1 << 16
SEALED_CHUNK = CHUNK + 16
HEADER = 20


def seal(content: bytes, key: bytes = KEY, purpose: str = "backups", subject: str = "a") -> bytes:
    return b"".join(seal_stream(key, purpose, subject, [content]))


def unseal(sealed: bytes, key: bytes = KEY, purpose: str = "backups", subject: str = "a") -> bytes:
    return b"".join(open_stream(key, purpose, subject, [sealed]))


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 5])
def test_a_stream_of_any_length_opens_again(size):
    content = os.urandom(size)
    assert unseal(seal(content)) == content


@pytest.mark.parametrize("step", [1000, CHUNK, 200_000])
def test_the_pieces_in_which_a_stream_comes_do_not_matter(step):
    content = os.urandom(3 * CHUNK + 17)
    sealer = StreamSealer(KEY, "backups", "a")
    pieces = [sealer.update(content[at : at + step]) for at in range(0, len(content), step)]
    sealed = b"".join([*pieces, sealer.finish()])
    assert len(sealed) == HEADER + len(content) + 4 * 16
    opener = StreamOpener(KEY, "backups", "a")
    opened = [opener.update(sealed[at : at + step]) for at in range(0, len(sealed), step)]
    assert b"".join([*opened, opener.finish()]) == content


def test_the_content_cannot_be_seen_and_two_seals_differ():
    content = b"a planted word " * 10_000
    first, second = seal(content), seal(content)
    assert b"planted" not in first
    assert first != second


def test_nothing_opens_with_another_key_purpose_or_subject():
    sealed = seal(b"content")
    for change in ({"key": bytes(32)}, {"purpose": "exports"}, {"subject": "b"}):
        with pytest.raises(SealError):
            unseal(sealed, **change)


@pytest.mark.parametrize("length", [0, 10, HEADER, HEADER + 16, HEADER + SEALED_CHUNK])
def test_a_stream_that_is_cut_short_is_refused(length):
    with pytest.raises(SealError):
        unseal(seal(os.urandom(2 * CHUNK))[:length])


def test_a_stream_that_goes_on_after_its_end_is_refused():
    with pytest.raises(SealError):
        unseal(seal(b"content") + b"more")


def test_chunks_in_another_order_are_refused():
    sealed = seal(os.urandom(3 * CHUNK))
    first, second = (
        sealed[HEADER + at * SEALED_CHUNK : HEADER + (at + 1) * SEALED_CHUNK] for at in (0, 1)
    )
    with pytest.raises(SealError):
        unseal(sealed[:HEADER] + second + first + sealed[HEADER + 2 * SEALED_CHUNK :])


@pytest.mark.parametrize("position", [0, 4, HEADER, HEADER + 100, HEADER + SEALED_CHUNK + 1, -1])
def test_a_flipped_bit_is_refused(position):
    sealed = bytearray(seal(os.urandom(2 * CHUNK)))
    sealed[position] ^= 1
    with pytest.raises(SealError):
        unseal(bytes(sealed))
