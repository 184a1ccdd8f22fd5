"""A damaged file is noticed: every read is either right or refused."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hashrange.engine.base import EVENTUAL, Engine
from hashrange.engine.sqlite.data_directory import DATABASE_NAME, PAGE_BYTES
from hashrange.engine.sqlite.engine import DataDirectoryError, SqliteEngine, acquire_directory
from hashrange.errors import CorruptionError, EngineError
from tests.engine.decisions import Write, keys_of, plain

SEED = int(os.environ.get("HASHRANGE_SEED", "20"))
FLIPS = int(os.environ.get("HASHRANGE_FLIPS", "200"))
STORES = ("t1", "t2", "t2.index")
END = b"\xff" * 40

Content = dict[str, dict[bytes, bytes]]


@contextlib.asynccontextmanager
async def opened(path: Path, key: bytes | None = None):
    lock = acquire_directory(path, server_key=key)
    try:
        engine = SqliteEngine.open(path, server_key=key)
        try:
            yield engine
        finally:
            await engine.close()
    finally:
        lock.release()


def make_content(rng: random.Random) -> Content:
    return {
        store: {
            rng.randbytes(rng.randint(8, 40)): rng.randbytes(rng.choice((20, 300, 1000, 12_000)))
            for _ in range(150)
        }
        for store in STORES
    }


async def fill(path: Path, content: Content, key: bytes | None = None) -> None:
    async with opened(path, key) as engine:
        await engine.write(plain(creates=STORES))
        for store, rows in content.items():
            await engine.write(
                plain(
                    puts=[(store, key, value) for key, value in rows.items()],
                    tallies=[(store, len(rows), 7)],
                )
            )


def used_places(path: Path, rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    """Return random bits of the file, in which no page is free."""
    size = (path / DATABASE_NAME).stat().st_size
    assert size % PAGE_BYTES == 0
    for _ in range(count):
        yield rng.randrange(size), rng.randrange(8)


async def read_everything(engine: Engine, content: Content) -> tuple[int, int]:
    """Read all rows in every way; return how many reads were right and how many refused."""
    right = refused = 0
    for store, rows in content.items():
        for key, value in rows.items():
            try:
                assert await engine.read([(store, 0, key)], EVENTUAL) == [value]
                right += 1
            except (CorruptionError, EngineError):
                refused += 1
        for reverse in (False, True):
            try:
                page, ended = await engine.range(
                    store,
                    0,
                    b"",
                    END,
                    reverse=reverse,
                    rows_max=10_000,
                    bytes_max=1 << 30,
                    consistency=EVENTUAL,
                )
                assert ended
                assert page == sorted(rows.items(), reverse=reverse)
                right += 1
            except (CorruptionError, EngineError):
                refused += 1
        try:
            assert await engine.tally(store, 1, store) == (len(rows), 7)
            right += 1
        except (CorruptionError, EngineError):
            refused += 1
    return right, refused


@pytest.mark.parametrize(("key", "flips"), [(None, FLIPS), (bytes(32), FLIPS // 5)])
def test_every_read_of_a_file_with_a_flipped_bit_is_right_or_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, key: bytes | None, flips: int
) -> None:
    caplog.set_level(logging.CRITICAL)
    rng = random.Random(SEED)
    content = make_content(rng)
    asyncio.run(fill(tmp_path, content, key))
    database = tmp_path / DATABASE_NAME
    good = database.read_bytes()
    noticed = 0
    for offset, bit in used_places(tmp_path, rng, flips):
        damaged = bytearray(good)
        damaged[offset] ^= 1 << bit
        database.write_bytes(damaged)

        async def look() -> int:
            async with opened(tmp_path, key) as engine:
                return (await read_everything(engine, content))[1]

        try:
            noticed += asyncio.run(look()) > 0
        except DataDirectoryError:
            noticed += 1
        except AssertionError as error:
            raise AssertionError(f"bit {bit} of byte {offset} was served") from error
    assert noticed > flips // 2


def value_place(path: Path, value: bytes) -> int:
    return (path / DATABASE_NAME).read_bytes().index(value)


def flip(path: Path, offset: int) -> None:
    with (path / DATABASE_NAME).open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 4]))


def test_a_damaged_row_is_refused_to_readers_and_writers_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = {b"a" * 20: b"one" * 30, b"b" * 20: b"two" * 30}
    asyncio.run(fill(tmp_path, {"t1": rows}))
    flip(tmp_path, value_place(tmp_path, b"two" * 30) + 5)

    async def look() -> None:
        async with opened(tmp_path) as engine:
            assert await engine.read(keys_of("t1", [b"a" * 20]), EVENTUAL) == [b"one" * 30]
            with pytest.raises(CorruptionError, match="a row of store t1"):
                await engine.read(keys_of("t1", [b"b" * 20]), EVENTUAL)
            rewrite = plain(puts=[("t1", b"b" * 20, b"new")])
            with pytest.raises(CorruptionError, match="a row of store t1"):
                await engine.write(Write(rewrite.decide, keys_of("t1", [b"b" * 20])))
            # A decision that does not look at it can replace it.
            await engine.write(rewrite)
            assert await engine.read(keys_of("t1", [b"b" * 20]), EVENTUAL) == [b"new"]

    asyncio.run(look())
    lines = [record.getMessage() for record in caplog.records]
    assert lines
    assert all("a row of store t1 (crc32 of its key" in line for line in lines)
    assert b"b" * 20 not in "".join(lines).encode()


def test_a_damaged_key_in_the_index_is_not_taken_for_an_absent_row(tmp_path: Path) -> None:
    rows = {bytes([number]) * 20: b"value%d" % number for number in range(60, 100)}
    asyncio.run(fill(tmp_path, {"t1": rows}))
    content = (tmp_path / DATABASE_NAME).read_bytes()
    key = bytes([80]) * 20
    places = [place for place in range(len(content)) if content.startswith(key, place)]
    assert len(places) == 2  # in the table and in its index
    for place in places:
        (tmp_path / DATABASE_NAME).write_bytes(content)
        flip(tmp_path, place)

        async def look() -> None:
            async with opened(tmp_path) as engine:
                for known, value in rows.items():
                    with contextlib.suppress(CorruptionError):
                        assert await engine.read(keys_of("t1", [known]), EVENTUAL) == [value]

        asyncio.run(look())


def test_damaged_sums_of_meta_spaces_and_tallies_are_refused(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path, {"t1": {b"k": b"v"}}))
    for statement in (
        "UPDATE tallies SET bytes = bytes + 1",
        "UPDATE spaces SET version = version + 1",
        "UPDATE meta SET counter = counter + 1",
    ):
        connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
        connection.execute(statement)
        connection.close()

        async def look() -> None:
            async with opened(tmp_path) as engine:
                await engine.tally("t1", 1, "t1")
                await engine.write(plain(puts=[("t1", b"k", b"w")]))

        with pytest.raises((CorruptionError, DataDirectoryError), match="damaged"):
            asyncio.run(look())
