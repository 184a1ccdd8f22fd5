"""A disk without room refuses writes with an error, keeps answering reads, and loses nothing."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.served import Connection, Served, check_file

TABLE = "full"
TEXT = "x" * 20_000
NO_ROOM = "There is no room left in the storage of this server"


def create_table(connection: Connection) -> None:
    connection.result(
        "CreateTable",
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )


def put(number: int) -> dict[str, Any]:
    return {"TableName": TABLE, "Item": {"id": {"N": str(number)}, "text": {"S": TEXT}}}


def written(connection: Connection) -> set[int]:
    items = connection.pages("Scan", TableName=TABLE)
    assert {item["text"]["S"] for item in items} <= {TEXT}
    return {int(item["id"]["N"]) for item in items}


@contextlib.contextmanager
def serving(tmp_path: Path, **settings: Any) -> Iterator[tuple[Served, Connection]]:
    served = Served(tmp_path / "data", "--workers", "2", "--log-level", "error", **settings)
    connection = Connection(served.port)
    try:
        served.start()
        create_table(connection)
        yield served, connection
    finally:
        connection.close()
        served.close()


def fill_and_recover(
    served: Served,
    connection: Connection,
    take_room: Callable[[], None],
    give_room: Callable[[], None],
) -> list[str]:
    """Run out of room and get it back; return the messages of the refusals."""
    kept = set(range(20))
    for number in kept:
        connection.result("PutItem", **put(number))
    take_room()
    messages = []
    refused = set()
    for number in range(100, 200):
        reply = connection.call("PutItem", put(number))
        if reply.status == 200:
            kept.add(number)
        else:
            assert (reply.status, reply.error) == (500, "InternalServerError")
            messages.append(reply.message)
            refused.add(number)
        # To another worker now and then.
        if number % 10 == 0:
            connection.close()
    assert refused
    assert written(connection) == kept
    give_room()
    for number in range(200, 210):
        connection.result("PutItem", **put(number))
        kept.add(number)
    assert written(connection) == kept
    served.kill()
    connection.close()
    served.start()
    assert written(connection) == kept
    assert served.stop() == 0
    check_file(served.directory)
    return messages


def test_a_full_disk_is_told_and_costs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "full"
    command = ("-m", "tests.faults.full_disk", str(marker))
    with serving(tmp_path, command=command) as (served, connection):
        messages = fill_and_recover(served, connection, marker.touch, marker.unlink)
    assert set(messages) == {NO_ROOM}


def test_a_full_disk_is_logged_once_a_minute(tmp_path: Path) -> None:
    marker = tmp_path / "full"
    command = ("-m", "tests.faults.full_disk", str(marker))
    with serving(tmp_path, command=command) as (served, connection):
        marker.touch()
        for number in range(50):
            assert connection.call("PutItem", put(number)).message == NO_ROOM
        lines = served.messages().count("no room left in storage")
        assert 1 <= lines <= 2  # at most one of each worker
        marker.unlink()


def test_a_file_that_cannot_grow_is_told_and_costs_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as (served, connection):

        def limit(size: int) -> None:
            for worker in served.workers():
                _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)
                resource.prlimit(worker, resource.RLIMIT_FSIZE, (size, hard))

        log_bytes = (tmp_path / "data" / "hashrange.db-wal").stat().st_size
        fill_and_recover(
            served,
            connection,
            lambda: limit(log_bytes + 1_000_000),
            lambda: limit(resource.RLIM_INFINITY),
        )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes, when `make faults` runs as root."""
    directory = tmp_path / "disk"
    directory.mkdir()
    if "HASHRANGE_SMALL_DISK" not in os.environ or os.geteuid() != 0:
        pytest.skip("mounts a small disk: make faults as root does")
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(directory)]
    subprocess.run(mount, check=True)
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_small_disk_is_filled_and_cleared(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with serving(small_disk) as (served, connection):

        def take_room() -> None:
            with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))

        messages = fill_and_recover(served, connection, take_room, ballast.unlink)
    assert set(messages) == {NO_ROOM}
