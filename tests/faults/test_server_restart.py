"""A server starts where another one was killed, although parts of that are still ending."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from tests.faults.served import Served

SLOW_SECONDS = 1.0


def test_the_workers_of_a_killed_server_are_waited_for(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", "--workers", "2", "--log-level", "error")
    try:
        served.start()
        slow = served.workers()[0]
        os.kill(slow, signal.SIGSTOP)
        served.kill_parent()
        threading.Timer(SLOW_SECONDS, os.kill, (slow, signal.SIGCONT)).start()
        served.start()
        assert served.stop() == 0
    finally:
        served.close()
