"""A server that is told to stop under load finishes what it has begun and loses nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.load import Load
from tests.faults.served import Served, check_file

SEED = int(os.environ.get("HASHRANGE_SEED", "1"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stop_under_load_answers_all_that_it_does(tmp_path: Path, workers: str) -> None:
    served = Served(tmp_path / "data", "--workers", workers, "--log-level", "error")
    load = Load(served.port, SEED)
    try:
        served.start()
        load.prepare()
        with load.running():
            load.wait_for_writes(100)
            assert served.stop() == 0
        log = served.directory / "hashrange.db-wal"
        assert not log.exists(), "the write-ahead log was left behind"
        served.start()
        # A request that came too late is not answered, but then it is not carried out either.
        _, done = load.check(repeat=False)
        assert done == 0
        assert served.stop() == 0
        check_file(served.directory)
        assert "Traceback" not in served.messages()
    finally:
        served.close()
