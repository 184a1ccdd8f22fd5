"""A server whose processes are killed under load keeps what it acknowledged, and only that.

Each round kills workers one by one, then the parent or everything at once, and starts the server
again. Then every acknowledged write is there and no refused one; what was not answered is done or
not done, transactions and batches as a whole; transactions repeated with their tokens are done
once; indexes, counts and sizes are what follows from the items.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from hashrange.server_key import load_server_key
from tests.faults.load import Load
from tests.faults.served import Served, check_file

ROUNDS = int(os.environ.get("HASHRANGE_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
WORKERS = 2
WORKER_KILLS = 2  # per round
WRITES_MAX = 80  # between two kills


@pytest.mark.parametrize(
    ("module", "is_encrypted"),
    [("hashrange", False), ("hashrange", True), ("tests.engine.slow_disk", False)],
)
def test_killed_processes_lose_nothing_and_leave_nothing_half_done(
    tmp_path: Path, module: str, is_encrypted: bool
) -> None:
    dice = random.Random(SEED)
    flags = ["--workers", str(WORKERS), "--log-level", "error"]
    key: bytes | None = None
    if is_encrypted:
        key = load_server_key(tmp_path / "key", may_create=True)
        flags += ["--key-file", str(tmp_path / "key")]
    served = Served(tmp_path / "data", *flags, command=("-m", module))
    load = Load(served.port, SEED)
    kills = doubts = done = 0
    try:
        served.start()
        load.prepare()
        for _ in range(ROUNDS):
            with load.running():
                for _ in range(WORKER_KILLS):
                    load.wait_for_writes(dice.randrange(1, WRITES_MAX))
                    served.kill_worker(dice.choice(served.workers()))
                load.wait_for_writes(dice.randrange(1, WRITES_MAX))
                served.kill() if dice.random() < 0.7 else served.kill_parent()
            kills += WORKER_KILLS + 1
            served.start()
            found = load.check()
            doubts, done = doubts + found[0], done + found[1]
        assert served.stop() == 0
        check_file(served.directory, key)
        assert "Traceback" not in served.messages()
    except Exception:
        print(served.messages())  # noqa: T201 - for whoever looks for the cause
        raise
    finally:
        served.close()
        print(  # noqa: T201 - shown when the test fails, and by make faults
            f"\nseed {SEED}: {kills} kills, {load.acknowledged} writes acknowledged, "
            f"{doubts} not answered ({done} of them done), {load.indexes_made} indexes made"
        )
