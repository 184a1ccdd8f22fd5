"""Repairs of databases with damaged pages: what can be read stays, what is lost is told."""

import asyncio
import re

import apsw
import pytest

from hashrange import maintenance
from hashrange.engine.base import STRONG, Changes
from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.encryption import open_encryption
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from hashrange.maintenance import MaintenanceError
from tests.engine.test_encryption import silent

KEY = bytes(range(32))
PAGE = 8192
ROWS = 300
STORES = ("t1", "t2")


class Fill:
    """A decision to write rows of a size to two stores."""

    fences = ()
    keys = ()

    def __init__(self, size: int) -> None:
        self.size = size

    def decide(self, _rows: object) -> Changes:
        changes = Changes()
        changes.creates += STORES
        for store in STORES:
            for number in range(ROWS):
                value = b"%06d" % number + b"x" * self.size
                changes.puts.append((store, 0, b"%06d" % number, value))
            changes.tallies.append((store, ROWS, 0))
        return changes


def using(path, key, work):
    """Open the engine of a directory for some work."""

    async def run():
        engine = SqliteEngine.open(path, server_key=key)
        try:
            return await work(engine)
        finally:
            await engine.close()

    lock = acquire_directory(path, server_key=key)
    try:
        return asyncio.run(run())
    finally:
        lock.release()


def rows_of(path, key, store):
    async def read(engine):
        rows, _ = await engine.range(
            store,
            0,
            b"",
            b"\xff",
            reverse=False,
            rows_max=10_000,
            bytes_max=1 << 30,
            consistency=STRONG,
        )
        return [int(row_key) for row_key, value in rows if value.startswith(row_key)]

    return using(path, key, read)


def make(path, key, size=400):
    using(path, key, lambda engine: engine.write(Fill(size)))
    return path / DATABASE_NAME


def damage(database, *pages):
    content = bytearray(database.read_bytes())
    for page in pages:
        start = (page - 1) * PAGE
        content[start : start + 200] = bytes(200)
    database.write_bytes(content)


def pages_of(database, key, name):
    """Return the pages of a table or an index, its root first."""
    page_key = open_encryption(database, key).page_key
    connection = apsw.Connection(str(database))
    if page_key is not None:
        page_key.apply(connection)
    try:
        root = "SELECT rootpage FROM sqlite_schema WHERE name = ? OR tbl_name = ? AND type = ?"
        kind = "index" if name.startswith("index of ") else "table"
        table = name.removeprefix("index of ")
        place = ("", table, "index") if kind == "index" else (table, "", "")
        number = connection.execute(root, place).get
        used = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = "
            "(SELECT name FROM sqlite_schema WHERE rootpage = ?) ORDER BY pageno",
            (number,),
        ).fetchall()
    finally:
        connection.close()
    return [number, *(page for (page,) in used if page != number)]


def repair(path, key):
    """Repair a directory; return what is left, and what was said."""
    said: list[str] = []
    left = maintenance.repair(str(path), key, said.append, silent)
    return left, "\n".join(said)


@pytest.fixture(params=[None, KEY], ids=["plain", "encrypted"])
def key(request):
    return request.param


def test_rows_on_damaged_pages_are_lost_and_all_others_stay(tmp_path, key):
    path = tmp_path / "data"
    database = make(path, key)
    leaves = pages_of(database, key, "store_t1")[1:]
    before = rows_of(path, key, "t1")
    damage(database, leaves[2], leaves[7], leaves[-1])
    left, said = repair(path, key)
    assert left == 0
    (told,) = re.findall(r"store t1: rows with the ids (.*) could not be read and are lost", said)
    lost = set()
    for first, last in re.findall(r"(\d+) to (\d+)", told):
        lost |= set(range(int(first), min(int(last), ROWS) + 1))
    # Row ids begin with 1 and rows were written in order.
    kept = rows_of(path, key, "t1")
    assert set(before) - set(kept) == {rowid - 1 for rowid in lost}
    assert 0 < len(lost) < 80
    assert rows_of(path, key, "t2") == list(range(ROWS))
    assert maintenance.check(str(path), key, silent, silent) == 0
    (copy,) = tmp_path.glob("data-damaged-*.db")
    assert copy.read_bytes()[(leaves[2] - 1) * PAGE :].startswith(bytes(200))
    assert copy.stat().st_mode & 0o077 == 0


def test_a_damaged_index_is_made_again_and_nothing_is_lost(tmp_path, key):
    path = tmp_path / "data"
    database = make(path, key)
    damage(database, *pages_of(database, key, "index of store_t1")[1:])
    left, said = repair(path, key)
    assert (left, "are lost" in said) == (0, False)
    assert rows_of(path, key, "t1") == rows_of(path, key, "t2") == list(range(ROWS))


def test_a_large_value_with_a_damaged_page_is_lost_alone(tmp_path):
    path = tmp_path / "data"
    database = make(path, KEY, size=20_000)
    damage(database, pages_of(database, KEY, "store_t1")[50])
    left, said = repair(path, KEY)
    assert (left, said.count("are lost")) == (0, 1)
    assert len(rows_of(path, KEY, "t1")) == ROWS - 1


@pytest.mark.parametrize("table", ["tallies", "spaces"])
def test_what_the_engine_keeps_beside_the_rows_is_made_again(tmp_path, table):
    path = tmp_path / "data"
    database = make(path, KEY)
    damage(database, pages_of(database, KEY, table)[0])
    assert repair(path, KEY)[0] == 0
    assert rows_of(path, KEY, "t1") == rows_of(path, KEY, "t2") == list(range(ROWS))
    assert maintenance.check(str(path), KEY, silent, silent) == 0
    # It can be written to as well.
    using(path, KEY, lambda engine: engine.write(Fill(10)))


def test_whichever_page_is_damaged_the_outcome_is_a_repair_or_a_clear_refusal(tmp_path):
    path = tmp_path / "data"
    database = make(path, KEY, size=100)
    content = database.read_bytes()
    refused = []
    pages = len(content) // PAGE
    for page in [*range(1, 9), *range(9, pages + 1, 6)]:
        database.write_bytes(content)
        damage(database, page)
        damaged = database.read_bytes()
        try:
            assert repair(path, KEY)[0] == 0
        except MaintenanceError:
            refused.append(page)
            assert database.read_bytes() == damaged
        else:
            assert maintenance.check(str(path), KEY, silent, silent) == 0
        for kept in tmp_path.glob("data-*"):
            kept.unlink()
    # The first page has the names of all others, and one the counters.
    assert refused
    assert refused[0] == 1
    assert len(refused) <= 3
