"""Backups of a whole server, made while clients write, and while it or the backup is killed.

Writers change pairs of items by transactions that keep both equal. A directory restored from a
backup has every write that was acknowledged before the backup began, and no pair is torn. A backup
that is killed is none, and the server does not notice.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

from tests.faults.served import Connection, Served, check_file, eventually
from tests.faults.test_recovery_kill import TABLE, Writer, by_key, check_pairs, create, put_pair

ROUNDS = int(os.environ.get("HASHRANGE_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
NOBODY, BACKUP, SERVER = "nobody", "backup", "server"

# Small chunks and a slow rate: there are many moments at which something can happen.
_COMMAND = (
    "from hashrange.engine.sqlite import online_copy; online_copy.CHUNK_BYTES = 4096;"
    "from hashrange.objects import server_backups; server_backups.PART_BYTES = 100_000;"
    "from hashrange.cli.main import main; main()"
)


def begin(data: Path, place: Path, rate: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _COMMAND, "backup", "create", str(data), str(place)]
    return subprocess.Popen(
        [*command, "--rate", str(rate)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run_verb(*arguments: str) -> str:
    command = [sys.executable, "-m", "hashrange", "backup", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_backups_of_a_server_are_whole_whatever_is_killed(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    data, place = tmp_path / "data", tmp_path / "backups"
    served = Served(data, "--workers", "2")
    stopped = threading.Event()
    try:
        served.start()
        connection = Connection(served.port)
        create(connection)
        writers = [Writer(served.port, dice.randrange(1 << 30), stopped) for _ in range(2)]
        for writer in writers:
            writer.start()
        for number in range(ROUNDS):
            victim = (NOBODY, BACKUP, SERVER)[number % 3]
            expected = f"round {number}"
            mark = {"p": {"S": "mark"}, "v": {"S": expected}}
            connection.result("PutItem", TableName=TABLE, Item=mark)
            # A second or two for what there is, and more than the writers add to the log.
            size = sum(path.stat().st_size for path in data.glob("hashrange.db*"))
            process = begin(data, place, rate=max(size / 1e6, 10.0))
            eventually(partial(has_begun, process, place), "a part is there")
            stopped.wait(dice.random() * 0.4)
            if victim == BACKUP:
                process.send_signal(signal.SIGKILL)
            elif victim == SERVER:
                served.kill()
                connection.close()
                served.start()
            out, complaints = process.communicate(timeout=60)
            if victim == BACKUP:
                if process.returncode:
                    assert out == ""
                continue
            assert process.returncode == 0, complaints
            check_restored(tmp_path, place, out.strip(), expected)
        stopped.set()
        for writer in writers:
            writer.join()
        connection.close()
        assert served.stop() == 0
    finally:
        stopped.set()
        served.close()
    check_file(data)
    listed = run_verb("list", str(place)).splitlines()
    assert len(listed) >= ROUNDS - ROUNDS // 3
    assert all("whole server" in line for line in listed)
    run_verb("verify", str(place))


def has_begun(process: subprocess.Popen[str], place: Path) -> bool:
    return process.poll() is not None or any(place.glob("servers/2*/*"))


def check_restored(folder: Path, place: Path, id: str, expected: str) -> None:
    """Start a server on what was restored, and look at its items."""
    data = folder / id
    run_verb("restore", str(place), id, str(data))
    restored = Served(data, "--workers", "1")
    try:
        restored.start()
        connection = Connection(restored.port)
        values = by_key(connection.pages("Scan", TableName=TABLE))
        assert values.pop("mark") == expected
        check_pairs(values)
        put_pair(connection, 0, "goes on")
        connection.close()
        assert restored.stop() == 0
    finally:
        restored.close()
    check_file(data)
