"""Conversions are killed at random moments: afterwards one of two keys opens all, objects too."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from hashrange.engine.sqlite.data_directory import NEW_DATABASE_NAME
from hashrange.engine.sqlite.encryption import object_keys, read_mark
from hashrange.engine.sqlite.engine import DataDirectoryError
from hashrange.objects.base import ObjectStoreError, get_object, put_object
from hashrange.objects.folder import FolderStore
from hashrange.objects.seals import PLAIN, KeySeal, Seal
from tests.engine.test_encryption import KEY, OTHER, count, fill, shows

ROUNDS = int(os.environ.get("HASHRANGE_KILL_ROUNDS", "5"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
ROWS = 2000
WAIT_SECONDS_MAX = 60.0


def start(command: str, directory: Path, *options: str) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "hashrange", command, str(directory), *options]
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def start_rekey(directory: Path, old: Path, new: Path) -> subprocess.Popen[bytes]:
    keys = ("--key-file", str(old), "--new-key-file", str(new))
    return start("rekey", directory, "--pages", *keys)


def kill_within(process: subprocess.Popen[bytes], watched: Path, delay: float) -> bool:
    """Kill a process some time after it wrote a file anew; tell whether it was killed.

    Without this start, most of its time would pass before it looks at the directory.
    """
    before = watched.read_bytes()
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while watched.read_bytes() == before and process.poll() is None:
        assert time.monotonic() < deadline
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    _, complaints = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode in (0, -signal.SIGKILL), complaints
    return process.returncode != 0


def opens(directory: Path, key: bytes) -> bool:
    """Tell whether a key opens the directory, all rows of which are then there."""
    try:
        found = count(directory, key)
    except DataDirectoryError as error:
        assert "is encrypted with the key" in str(error)  # noqa: PT017 - another error is a failure
        return False
    assert found == ROWS
    return True


def write_keys(folder: Path) -> dict[bytes, Path]:
    files = {KEY: folder / "first.key", OTHER: folder / "second.key"}
    for key, file in files.items():
        file.write_text(key.hex())
        file.chmod(0o600)
    return files


def test_a_rekey_that_is_killed_leaves_a_directory_that_one_key_opens(tmp_path):
    directory = tmp_path / "data"
    fill(directory, KEY, ROWS)
    files = write_keys(tmp_path)
    rng = random.Random(SEED)
    current, other = KEY, OTHER
    killed = 0
    for _ in range(ROUNDS):
        process = start_rekey(directory, files[current], files[other])
        killed += kill_within(process, directory / "ENCRYPTION", rng.uniform(0, 0.03))
        assert not shows(directory)
        assert opens(directory, KEY) is not opens(directory, OTHER)
        if opens(directory, other):
            current, other = other, current
        assert not (directory / NEW_DATABASE_NAME).exists()
    assert killed


OBJECTS = {f"{number:03}": os.urandom(20_000) for number in range(40)}
# A conversion takes a while, also where a disk is quick.
OBJECTS["last"] = b"x" * (32 << 20)


def put_all(store: FolderStore) -> None:
    async def put() -> None:
        await store.create_bucket("bucket", "owner")
        for key, content in OBJECTS.items():
            await put_object(store, "bucket", key, content)

    asyncio.run(put())


def contents(root: Path, seals: Sequence[Seal]) -> dict[str, bytes]:
    """Return the objects that one of some seals opens."""
    found: dict[str, bytes] = {}
    for seal in seals:
        store = FolderStore(root, seal=seal, is_inline=True)
        for key in OBJECTS:
            with contextlib.suppress(ObjectStoreError):
                found[key] = asyncio.run(get_object(store, "bucket", key))
    return found


@pytest.mark.parametrize("command", ["encrypt", "rekey", "decrypt"])
def test_a_conversion_of_objects_that_is_killed_loses_none_and_can_be_repeated(tmp_path, command):
    directory = tmp_path / "data"
    files = write_keys(tmp_path)
    before = None if command == "encrypt" else KEY
    fill(directory, before, 10)
    root = directory / "buckets"
    seal = PLAIN if before is None else KeySeal(object_keys(directory, before))
    put_all(FolderStore(root, seal=seal, is_inline=True))
    rng = random.Random(SEED)
    killed, key, other = 0, KEY, OTHER
    for name in ("000", "030"):
        if command == "rekey":
            process = start_rekey(directory, files[key], files[other])
        else:
            process = start(command, directory, "--key-file", str(files[key]))
        killed += kill_within(process, root / "bucket" / name, rng.uniform(0, 0.01))
        if command == "rekey":
            key, other = other, key
        mark = read_mark(directory)
        assert mark is not None
        sealed = KeySeal(mark.object_keys(key))
        seals: list[Seal] = [sealed] if command == "rekey" else [PLAIN, sealed]
        assert contents(root, seals) == OBJECTS
    assert killed
    if command != "rekey":
        # The last one may have come to its end before it was killed.
        process = start(command, directory, "--key-file", str(files[key]))
        _, complaints = process.communicate(timeout=WAIT_SECONDS_MAX)
        assert not process.returncode or b"already" in complaints or b"not encr" in complaints
        assert contents(root, [sealed if command == "encrypt" else PLAIN]) == OBJECTS
