"""`hashrange check` finds what does not fit, and `hashrange repair` mends what is derived."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw
import pytest

from tests.faults.served import Connection, Served

TABLE = "checked"
ITEMS = 300


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a server that was stopped, with one table that has everything."""
    directory = tmp_path_factory.mktemp("checked") / "data"
    served = Served(directory, "--workers", "1")
    served.start()
    connection = Connection(served.port)
    try:
        fill(connection)
        connection.close()
        assert served.stop() == 0
    finally:
        connection.close()
        served.close()
    return directory


def fill(connection: Connection) -> None:
    names = ("id", "sort", "kind", "rank")
    all_items = {"ProjectionType": "ALL"}
    connection.result(
        "CreateTable",
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=key_schema("id", "sort"),
        GlobalSecondaryIndexes=[
            {"IndexName": "by-kind", "KeySchema": key_schema("kind"), "Projection": all_items}
        ],
        LocalSecondaryIndexes=[
            {"IndexName": "by-rank", "KeySchema": key_schema("id", "rank"), "Projection": all_items}
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    connection.result(
        "UpdateTimeToLive",
        TableName=TABLE,
        TimeToLiveSpecification={"AttributeName": "ends", "Enabled": True},
    )
    for number in range(ITEMS):
        connection.result("PutItem", TableName=TABLE, Item=item_of(number))


def key_schema(partition: str, sort: str | None = None) -> list[dict[str, str]]:
    schema = [{"AttributeName": partition, "KeyType": "HASH"}]
    return schema + ([{"AttributeName": sort, "KeyType": "RANGE"}] if sort else [])


def item_of(number: int) -> dict[str, Any]:
    return {
        "id": {"S": f"partition {number % 20}"},
        "sort": {"S": f"{number:05d}"},
        "kind": {"S": f"kind {number % 7}"},
        "rank": {"S": f"{-number:05d}"},
        "ends": {"N": str(4_000_000_000 + number)},
        "text": {"S": f"text {number} " + "x" * 100},
    }


def maintain(command: str, directory: Path) -> tuple[int, str]:
    arguments = [sys.executable, "-m", "hashrange", command, str(directory)]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr, result.stderr
    return result.returncode, result.stdout + result.stderr


def copied(stopped: Path, tmp_path: Path) -> Path:
    """Return a copy of the directory, of its database alone."""
    path = tmp_path / "data"
    path.mkdir()
    (path / "hashrange.db").write_bytes((stopped / "hashrange.db").read_bytes())
    return path


def stores_of(database: apsw.Connection) -> dict[str, str]:
    """Return the stores of the table by what they are."""
    found = {}
    tallied: list[Any] = database.execute("SELECT store FROM tallies").fetchall()
    for (store,) in tallied:
        if not store.startswith("t") or store in ("tokens", "triggers"):
            continue
        (key,) = database.execute(f'SELECT key FROM "store_{store}"').fetchone() or (b"",)
        if store.endswith(".x"):
            found["expiry"] = store
        elif store.endswith(".c"):
            found["collections"] = store
        elif "." not in store:
            rows = database.execute(f'SELECT count(*) FROM "store_{store}"').get
            assert rows == ITEMS
            is_index = database.execute(
                f'SELECT count(DISTINCT substr(key, 1, 4)) FROM "store_{store}"'
            ).get
            found["global" if is_index == 7 else "items"] = store
        elif key[:1] in (b"r", b"m") and len(key) < 20:
            found["stream"] = store
        else:
            found["local"] = store
    assert len(found) == 6, found
    return found


def set_row(database: apsw.Connection, store: str, key: bytes, value: bytes) -> None:
    """Replace a row by one with a right checksum."""
    start = crc32(key, crc32(store.encode()))
    row_sum = (start & 0x7FFFFFFF) << 32 | crc32(value, start)
    database.execute(
        f'INSERT INTO "store_{store}"(key, sum, value) VALUES(?1, ?2, ?3) '
        "ON CONFLICT(key) DO UPDATE SET sum = ?2, value = ?3",
        (key, row_sum, value),
    )


def lose_row(kind: str) -> Callable[[apsw.Connection, dict[str, str]], None]:
    def lose(database: apsw.Connection, stores: dict[str, str]) -> None:
        database.execute(f'DELETE FROM "store_{stores[kind]}" WHERE rowid = 5')

    return lose


def add_row(kind: str) -> Callable[[apsw.Connection, dict[str, str]], None]:
    """Put a row there under another key."""

    def add(database: apsw.Connection, stores: dict[str, str]) -> None:
        table = f'"store_{stores[kind]}"'
        query = f"SELECT key, value FROM {table} WHERE rowid = 7"
        found: Any = database.execute(query).fetchone()
        key, value = found
        set_row(database, stores[kind], key[:8] + b"~" + key[8:], value)

    return add


def wrong_tally(database: apsw.Connection, stores: dict[str, str]) -> None:
    store = stores["items"]
    check = crc32(f"{store}\0{1}\0{2}\0".encode())
    values = (check, store)
    database.execute("UPDATE tallies SET rows = 1, bytes = 2, sum = ? WHERE store = ?", values)


def wrong_collection(database: apsw.Connection, stores: dict[str, str]) -> None:
    store = stores["collections"]
    key = database.execute(f'SELECT key FROM "store_{store}" WHERE rowid = 3').get
    set_row(database, store, key, (12345).to_bytes(8, "little"))


def damaged_row(kind: str) -> Callable[[apsw.Connection, dict[str, str]], None]:
    def damage(database: apsw.Connection, stores: dict[str, str]) -> None:
        table = f'"store_{stores[kind]}"'
        value = database.execute(f"SELECT value FROM {table} WHERE rowid = 9").get
        changed = bytes([value[0] ^ 1]) + value[1:] if value else b"x"
        database.execute(f"UPDATE {table} SET value = ? WHERE rowid = 9", (changed,))

    return damage


def wrong_sums(database: apsw.Connection, _stores: dict[str, str]) -> None:
    database.execute("UPDATE spaces SET sum = sum + 1; UPDATE tallies SET sum = sum + 1")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lose_row("global"), "is missing"),
        (lose_row("local"), "is missing"),
        (lose_row("expiry"), "is missing"),
        (lose_row("collections"), "item collection"),
        (lose_row("items"), "belongs to no item"),
        (add_row("global"), "belongs to no item"),
        (add_row("expiry"), "belongs to no item"),
        (wrong_tally, "the tally of store"),
        (wrong_collection, "item collection"),
        (damaged_row("items"), "is damaged"),
        (damaged_row("global"), "is damaged"),
        (damaged_row("stream"), "is damaged"),
        (wrong_sums, "is damaged"),
    ],
    ids=lambda value: getattr(value, "__qualname__", "").replace(".<locals>.", "-"),
)
def test_what_is_wrong_is_found_and_mended(
    stopped: Path,
    tmp_path: Path,
    change: Callable[[apsw.Connection, dict[str, str]], None],
    told: str,
) -> None:
    directory = copied(stopped, tmp_path)
    database = apsw.Connection(str(directory / "hashrange.db"))
    change(database, stores_of(database))
    database.close()
    status, text = maintain("check", directory)
    assert status == 1
    assert told in text
    status, text = maintain("repair", directory)
    assert status == 0, text
    assert maintain("check", directory)[0] == 0


def test_a_good_directory_is_found_good_and_a_repaired_one_is_served(
    stopped: Path, tmp_path: Path
) -> None:
    directory = copied(stopped, tmp_path)
    status, text = maintain("check", directory)
    assert (status, "0 problems found" in text) == (0, True), text
    database = apsw.Connection(str(directory / "hashrange.db"))
    damaged_row("items")(database, stores_of(database))
    database.close()
    assert maintain("repair", directory)[0] == 0
    served = Served(directory, "--workers", "1")
    served.start()
    connection = Connection(served.port)
    expected = {item_of(number)["sort"]["S"] for number in range(ITEMS)}
    found = {item["sort"]["S"] for item in connection.pages("Scan", TableName=TABLE)}
    assert len(expected - found) == 1
    indexed = connection.pages("Scan", TableName=TABLE, IndexName="by-kind")
    assert {item["sort"]["S"] for item in indexed} == found
    connection.close()
    assert served.stop() == 0
    served.close()
    # What was set aside can still be looked at.
    database = apsw.Connection(str(directory / "hashrange.db"))
    assert database.execute("SELECT count(*) FROM damaged").get == 1
    database.close()


def test_a_running_server_and_a_directory_of_something_else_are_refused(tmp_path: Path) -> None:
    status, text = maintain("check", tmp_path)
    assert (status, "is not a data directory" in text) == (1, True)
    assert not list(tmp_path.iterdir())
    served = Served(tmp_path / "data", "--workers", "1")
    served.start()
    status, text = maintain("repair", tmp_path / "data")
    assert (status, "in use" in text) == (1, True)
    assert served.stop() == 0
    served.close()


def test_a_damaged_log_is_kept_aside_by_a_repair(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    served = Served(directory, "--workers", "1")
    served.start()
    connection = Connection(served.port)
    connection.result(
        "CreateTable",
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=key_schema("id"),
    )
    for number in range(20):
        connection.result("PutItem", TableName=TABLE, Item={"id": {"S": str(number)}})
    served.kill()
    connection.close()
    log = directory / "hashrange.db-wal"
    content = bytearray(log.read_bytes())
    content[-5000] ^= 1
    log.write_bytes(content)
    status, text = maintain("check", directory)
    assert (status, "hashrange repair" in text) == (1, True)
    status, text = maintain("repair", directory)
    assert (status, "was copied to" in text) == (0, True), text
    (copy,) = (path for path in tmp_path.iterdir() if path != directory)
    assert copy.read_bytes() == content
    assert os.stat(copy).st_mode & 0o077 == 0
    assert maintain("check", directory)[0] == 0
    served.close()
