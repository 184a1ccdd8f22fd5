"""A clock jumps forwards and back while its process runs, and waiting takes as long as before."""

import os
import subprocess
import sys

import pytest

from tests.cassandra_nodes.clocks import build_clock, clock_environment, set_clock, why_impossible

_PROGRAM = """
import sys, time
for _ in sys.stdin:
    began = time.monotonic()
    time.sleep(0.01)
    print(time.time(), time.monotonic() - began, flush=True)
"""


@pytest.mark.skipif(why_impossible() != "", reason="a C compiler is missing")
def test_a_clock_jumps_while_its_process_runs(tmp_path):
    file = tmp_path / "clock"
    set_clock(file, 0)
    environment = os.environ | clock_environment(build_clock(tmp_path), file)
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def tell():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("now\n")
            process.stdin.flush()
            return tuple(map(float, process.stdout.readline().split()))

        first, _ = tell()
        set_clock(file, 10_000)
        later, slept = tell()
        assert 10_000 <= later - first < 10_100
        assert slept < 30
        set_clock(file, -10_000)
        earlier, _ = tell()
        assert -10_000 <= earlier - first < -9_900
