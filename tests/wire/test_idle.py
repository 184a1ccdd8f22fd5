"""A server that nobody uses sleeps."""

import contextlib
import sys
import time
from pathlib import Path

import pytest

from tests.harness.server import free_port, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts switches in /proc")

WAKE_UPS_PER_SECOND_MAX = 10
# A server that was just started still settles.
SETTLE_SECONDS_MAX = 20.0
WATCHED_SECONDS = 1.5


def processes(parent: str = "self") -> list[str]:
    """Return the children of a process and theirs."""
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended meanwhile
            for child in (task / "children").read_text().split():
                found += [child, *processes(child)]
    return found


def switches(pids: list[str]) -> int:
    """Return how often processes gave up the processor because they had nothing to do."""
    return sum(
        int(line.split()[1])
        for pid in pids
        for status in Path(f"/proc/{pid}/task").glob("*/status")
        for line in status.read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )


@pytest.mark.parametrize("flags", [["--in-memory"], ["--workers", "2"]])
def test_an_idle_server_wakes_up_seldom(flags, tmp_path):
    known = set(processes())
    place = [] if "--in-memory" in flags else ["--data-dir", str(tmp_path)]
    port = free_port()
    command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port), *flags, *place]
    with running(command, port):
        server = [pid for pid in processes() if pid not in known]
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        rate = WAKE_UPS_PER_SECOND_MAX + 1.0
        while rate > WAKE_UPS_PER_SECOND_MAX and time.monotonic() < deadline:
            before, began = switches(server), time.monotonic()
            time.sleep(WATCHED_SECONDS)
            rate = (switches(server) - before) / (time.monotonic() - began)
        assert rate <= WAKE_UPS_PER_SECOND_MAX
