"""The scrub reads all rows of all tables, and passes over a store that is damaged."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import apsw
import pytest

from hashrange.app.database import Database
from hashrange.clock import SystemClock
from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from hashrange.model.records import TableRecord, Throughput
from hashrange.services.scrub import Scrub
from hashrange.storage.catalog import Edit
from tests.engine.decisions import plain

ROWS = 350


def record_of(name: str) -> TableRecord:
    return TableRecord(
        name=name,
        id=name,
        account="000000000000",
        region="us-east-1",
        store=f"t{name}",
        shards=1,
        key_schema=[{"AttributeName": "id", "KeyType": "HASH"}],
        attribute_types={"id": "S"},
        created_at=0.0,
        active_at=0.0,
        billing_mode="PAY_PER_REQUEST",
        throughput=Throughput(),
    )


async def make_table(database: Database, name: str) -> None:
    record = record_of(name)
    edit = Edit(record, creates=[record.store])
    await database.catalog.change("000000000000", "us-east-1", name, lambda _: edit)
    puts = [(record.store, b"%04d" % number, b"v" * 50) for number in range(ROWS)]
    await database.engine.write(plain(puts=puts))


async def round_of(engine: SqliteEngine) -> int:
    scrub, steps = Scrub(engine), 0
    while await scrub.step():
        steps += 1
        assert steps < 1000
    return steps


def test_a_round_reads_everything_and_reports_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fill() -> int:
        engine = SqliteEngine.open(tmp_path)
        database = Database(engine, SystemClock())
        for name in ("one", "two"):
            await make_table(database, name)
        steps = await round_of(engine)
        await database.close()
        return steps

    async def scrub() -> None:
        engine = SqliteEngine.open(tmp_path)
        await round_of(engine)
        await engine.close()

    lock = acquire_directory(tmp_path)
    # Four pieces of each table, and the catalog.
    assert asyncio.run(fill()) >= 8
    assert not caplog.records
    database = apsw.Connection(str(tmp_path / DATABASE_NAME))
    for name in ("one", "two"):
        database.execute(f"UPDATE store_t{name} SET value = x'00' WHERE rowid = 333")
    database.close()
    caplog.set_level(logging.ERROR)
    asyncio.run(scrub())
    lock.release()
    for name in ("one", "two"):
        assert f"a row of store t{name} (crc32 of its key" in caplog.text
