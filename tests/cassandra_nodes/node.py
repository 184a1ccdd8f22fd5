"""One Cassandra node as a process: start, kill and pause it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Final, final

from tests.cassandra_nodes.clocks import clock_environment, set_clock
from tests.cassandra_nodes.configuration import Nodes, read_nodes, write_files
from tests.cassandra_nodes.links import namespace

ROOT: Final = Path(__file__).resolve().parents[2] / ".cassandra"
"""Where jars and data are."""

CLOCK: Final = ROOT / "clock.so"
"""The library of `clocks`, once it is built."""

_HERE: Final = Path(__file__).resolve().parent
_PORT: Final = 9042
_START_SECONDS_MAX: Final = 240.0
_POLL_SECONDS: Final = 0.2


class NodeError(Exception):
    """A node cannot do what it is told; the message says why, for people."""


def fetch_jars() -> None:
    """Copy Cassandra and all it needs from Maven's repository, once."""
    if (ROOT / "lib").is_dir():
        return
    command = ["mvn", "-q", "-f", str(_HERE / "pom.xml"), "dependency:copy-dependencies"]
    made = ROOT / "lib.new"
    subprocess.run([*command, f"-DoutputDirectory={made}"], check=True)
    made.rename(ROOT / "lib")


@final
class Node:
    """A node of the cluster under ROOT."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.folder = ROOT / "run" / f"node{number}"
        # How far the clock of the process is from the machine's; see `clocks`.
        self.clock = self.folder / "clock"

    @property
    def nodes(self) -> Nodes:
        return read_nodes(self.folder)

    @property
    def address(self) -> str:
        return self.nodes.address(self.number)

    def prepare(self, nodes: Nodes) -> None:
        """Make an empty node."""
        write_files(self.folder, self.number, nodes)
        set_clock(self.clock, 0)

    def start(self) -> None:
        """Start the process; `wait` tells when it serves."""
        with (self.folder / "log/stdout.log").open("ab") as output:
            process = subprocess.Popen(
                self._command(),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.folder,
                env=os.environ | self._environment(),
            )
        (self.folder / "pid").write_text(str(process.pid))

    def _environment(self) -> dict[str, str]:
        return clock_environment(CLOCK, self.clock) if self.nodes.clocks else {}

    def _command(self) -> list[str]:
        folder, nodes = self.folder, self.nodes
        inside = ["ip", "netns", "exec", namespace(self.number)] if nodes.namespaces else []
        return [
            *inside,
            *("java", f"-Xms{nodes.heap}", f"-Xmx{nodes.heap}"),
            *("-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=384m", "-Xss256k"),
            *("-XX:ActiveProcessorCount=2", "-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError"),
            *("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=96m"),
            f"-javaagent:{ROOT}/lib/jamm-0.4.0.jar",
            *(_HERE / "jvm.flags").read_text().split(),
            *("-Djava.net.preferIPv4Stack=true", "-Dchronicle.analytics.disable=true"),
            *("-Dcassandra-foreground=yes", "-Dio.netty.tryReflectionSetAccessible=true"),
            *(f"-Djava.io.tmpdir={folder}/log", f"-Djna.tmpdir={folder}/log"),
            f"-Dcassandra.config=file://{folder}/conf/cassandra.yaml",
            *(f"-Dcassandra.storagedir={folder}/data", f"-Dcassandra.logdir={folder}/log"),
            f"-Dlogback.configurationFile={folder}/conf/logback.xml",
            f"-Dcassandra.jmx.local.port={nodes.jmx_port(self.number)}",
            *("-Dcassandra.ring_delay_ms=2000", "-Dcassandra.skip_wait_for_gossip_to_settle=0"),
            "-Dcassandra.superuser_setup_delay_ms=0",
            *("-cp", f"{folder}/conf:{ROOT}/lib/*"),
            "org.apache.cassandra.service.CassandraDaemon",
        ]

    def wait(self) -> None:
        """Wait until the node accepts clients."""
        deadline = time.monotonic() + _START_SECONDS_MAX
        while not self.is_up():
            if self.process_id() is None:
                raise NodeError(f"node {self.number} ended; see {self.folder}/log")
            if time.monotonic() > deadline:
                raise NodeError(f"node {self.number} is not up; see {self.folder}/log")
            time.sleep(_POLL_SECONDS)

    def is_up(self) -> bool:
        """Tell whether the node accepts connections of clients."""
        try:
            socket.create_connection((self.address, _PORT), 0.5).close()
        except OSError:
            return False
        return True

    def process_id(self) -> int | None:
        """Return the process of the node, if it lives."""
        try:
            found = int((self.folder / "pid").read_text())
            state = Path(f"/proc/{found}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (OSError, ValueError):
            return None
        return None if state == "Z" else found

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the node: SIGKILL, SIGSTOP, SIGCONT or SIGTERM."""
        if (process_id := self.process_id()) is not None:
            os.kill(process_id, number)

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self.send(signal.SIGKILL)

    def pause(self) -> None:
        """Have the process stand still."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a process that was paused go on."""
        self.send(signal.SIGCONT)

    def stop(self) -> None:
        """End the process and wait for that."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        deadline = time.monotonic() + 30
        while self.process_id() is not None:
            if time.monotonic() > deadline:
                self.send(signal.SIGKILL)
            time.sleep(_POLL_SECONDS)

    def memory_megabytes(self) -> int:
        """Return the resident memory of the process."""
        for line in Path(f"/proc/{self.process_id()}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) // 1024
        return 0


def all_nodes() -> list[Node]:
    """Return the nodes there are, running or not."""
    found = sorted(int(path.name[4:]) for path in (ROOT / "run").glob("node*"))
    return [Node(number) for number in found]
