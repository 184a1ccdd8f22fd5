"""The servers that can be measured: how each is started, and a running one."""

from __future__ import annotations

import contextlib
import http.client
import importlib.metadata
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.signing import Signer

PEERS = Path(os.environ.get("BENCH_PEERS", ".bench-peers")).resolve()
TICKS = os.sysconf("SC_CLK_TCK")

# What `make serve-compiled` runs.
_COMPILED = Path(".venv-compiled").absolute()
_DYNOXIDE = PEERS / "node_modules/@dynoxide/linux-x64"
_EXTENDDB = PEERS / "node_modules/@extenddb/linux-x64"
_DYNALITE = PEERS / "node_modules/dynalite"
_DYNAMODB_LOCAL = PEERS / "dynamodb-local/lib"
_MOTO = PEERS / "moto/bin/moto_server"


class Kind(NamedTuple):
    """A server program: how to start it, what it promises of a write it has acknowledged."""

    name: str
    installed: Callable[[], bool]
    version: Callable[[], str]
    command: Callable[[int, Path | None], list[str]]  # port, data directory (None: in memory)
    durability: str | None  # on disk; None when it keeps nothing on disk
    credentials: tuple[str, str] = ("local", "local")
    memory_is_tmpfs: bool = False  # it has no usable mode without files
    disk_only: bool = False
    seals_tables: bool = False  # tables are encrypted with a KMS key


def hashrange_command(
    workers: int | None = None, python: str = sys.executable
) -> Callable[[int, Path | None], list[str]]:
    def command(port: int, directory: Path | None) -> list[str]:
        store = ["--data-dir", str(directory)] if directory else ["--in-memory"]
        arguments = ["serve", "--port", str(port), *store]
        if workers is not None:
            arguments += ["--workers", str(workers)]
        return [python, "-m", "hashrange", *arguments]

    return command


def _dynoxide(port: int, directory: Path | None) -> list[str]:
    store = ["--db-path", str(directory / "dynoxide.db")] if directory else []
    return [str(_DYNOXIDE / "dynoxide"), "serve", "--port", str(port), *store]


def _extenddb(port: int, directory: Path | None) -> list[str]:
    # Without a configuration file it runs in its developer mode, on a file in its directory.
    return [str(_EXTENDDB / "extenddb"), "serve", "--foreground", "--port", str(port)]


def _dynalite(port: int, directory: Path | None) -> list[str]:
    store = ["--path", str(directory / "leveldb")] if directory else []
    delays = ["--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"]
    address = ["--host", "127.0.0.1", "--port", str(port)]
    return ["node", str(_DYNALITE / "cli.js"), *address, *delays, *store]


def _dynamodb_local(port: int, directory: Path | None) -> list[str]:
    store = ["-dbPath", str(directory)] if directory else ["-inMemory"]
    runner = "software.amazon.dynamodb.services.local.main.ServerRunner"
    java = ["java", f"-Djava.library.path={_DYNAMODB_LOCAL}", "-cp", f"{_DYNAMODB_LOCAL}/*"]
    return [*java, runner, "-port", str(port), "-disableTelemetry", *store]


def _moto(port: int, directory: Path | None) -> list[str]:
    return [str(_MOTO), "-H", "127.0.0.1", "-p", str(port)]


def _package_version(folder: Path) -> Callable[[], str]:
    return lambda: str(json.loads((folder / "package.json").read_text())["version"])


def _dynamodb_local_version() -> str:
    return next(_DYNAMODB_LOCAL.glob("DynamoDBLocal-*.jar")).stem.partition("-")[2]


def _moto_version() -> str:
    return next(PEERS.glob("moto/lib/*/site-packages/moto-*.dist-info")).name.split("-")[1][:-5]


def _hashrange_version() -> str:
    return importlib.metadata.version("hashrange")


_FSYNC = "fsync before each acknowledgement"
_SYSTEM = "survives a crash of the server, not a power loss"

KINDS = [
    Kind("Hashrange", lambda: True, _hashrange_version, hashrange_command(), _FSYNC),
    Kind(
        "Hashrange (1 worker)",
        lambda: True,
        _hashrange_version,
        hashrange_command(1),
        _FSYNC,
        disk_only=True,
    ),
    Kind(
        "Hashrange (compiled)",
        (_COMPILED / "ready").exists,
        _hashrange_version,
        hashrange_command(python=str(_COMPILED / "bin/python")),
        _FSYNC,
    ),
    Kind("Dynoxide", _DYNOXIDE.exists, _package_version(_DYNOXIDE), _dynoxide, _FSYNC),
    Kind(
        "ExtendDB",
        _EXTENDDB.exists,
        _package_version(_EXTENDDB),
        _extenddb,
        _SYSTEM,
        credentials=("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        memory_is_tmpfs=True,
    ),
    Kind("dynalite", _DYNALITE.exists, _package_version(_DYNALITE), _dynalite, _SYSTEM),
    Kind(
        "DynamoDB Local",
        _DYNAMODB_LOCAL.exists,
        _dynamodb_local_version,
        _dynamodb_local,
        _FSYNC,
    ),
    Kind("moto server", _MOTO.exists, _moto_version, _moto, None),
]
ONE_WORKER = KINDS[1]
COMPILED = KINDS[2]
OURS = [kind.name for kind in KINDS if kind.name.startswith("Hashrange")]


class Server:
    """A running server: requests to it, and what its processes use."""

    def __init__(self, kind: Kind, on_disk: bool) -> None:
        self.kind = kind
        self.name = kind.name
        self.on_disk = on_disk
        self.directory: Path | None = None
        directory: Path | None = None
        if on_disk or kind.memory_is_tmpfs:
            parent = None if on_disk else "/dev/shm"
            directory = self.directory = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
        self.port = _free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.signer = Signer(self.host, kind.credentials)
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
        self.process = subprocess.Popen(
            kind.command(self.port, directory),
            cwd=directory,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
        )

    @property
    def durability(self) -> str:
        if not self.on_disk:
            return "in memory"
        return self.kind.durability or "in memory"

    def call(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Send one request on a connection of its own; return status and answer."""
        body = json.dumps(request).encode()
        connection = http.client.HTTPConnection(self.host, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/", body, self.signer.headers(operation, body))
            response = connection.getresponse()
            text = response.read()
        try:
            return response.status, json.loads(text or b"{}")
        except ValueError:
            return response.status, {"__type": text[:200].decode(errors="replace")}

    def wait_ready(self, seconds: float = 60) -> None:
        """Ask until ListTables succeeds."""
        deadline = time.monotonic() + seconds
        status: int | None = None
        while status != 200:
            if self.process.poll() is not None:
                self._complaints.seek(0)
                said = self._complaints.read().decode(errors="replace")[-500:]
                raise RuntimeError(f"{self.name} does not start: {said}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} does not answer (last status {status})")
            try:
                status, _ = self.call("ListTables", {})
            except (OSError, http.client.HTTPException):
                time.sleep(0.002)

    def stop(self) -> None:
        """Stop its processes and remove its files."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._complaints.close()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def cpu_seconds(self) -> float:
        """Return the processor time its processes have used."""
        trees = (stat[11:13] for _, stat in _process_tree(self.process.pid))
        return sum(int(field) for fields in trees for field in fields) / TICKS

    def memory_mb(self) -> float:
        """Return the resident memory of its processes, shared pages counted once."""
        kilobytes = 0
        for pid, _ in _process_tree(self.process.pid):
            counted = "Rss:" if pid == self.process.pid else "Private_"
            with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as rollup:
                kilobytes += sum(int(line.split()[1]) for line in rollup if counted in line[:9])
        return kilobytes / 1024

    def process_ids(self) -> list[int]:
        """Return its processes."""
        return [pid for pid, _ in _process_tree(self.process.pid)]

    def commit_count(self) -> int:
        """Return how many transactions Hashrange has committed, from SQLite's index of its log."""
        assert self.directory is not None
        with open(self.directory / "hashrange.db-shm", "rb") as index:
            index.seek(8)  # "iChange" of the header, counted on by each transaction
            return int.from_bytes(index.read(4), sys.byteorder)

    def file_sizes_mb(self) -> dict[str, float]:
        """Return the sizes of its files by name."""
        if not self.directory:
            return {}
        files = (path for path in self.directory.rglob("*") if path.is_file())
        return {path.name: path.stat().st_size / 2**20 for path in files}


@contextlib.contextmanager
def running(kinds: list[Kind], on_disk: bool) -> Iterator[list[Server]]:
    """Start servers, wait for them, and stop them at the end."""
    started: list[Server] = []
    try:
        for kind in kinds:
            started.append(Server(kind, on_disk))
            started[-1].wait_ready()
        yield started
    finally:
        for server in started:
            server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _process_tree(root: int) -> list[tuple[int, list[str]]]:
    """Return (pid, fields of /proc/pid/stat after the name) of a process and its descendants."""
    stats: dict[int, list[str]] = {}
    children: dict[int, list[int]] = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        stats[pid] = fields
        children.setdefault(int(fields[1]), []).append(pid)
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        if pid in stats:
            found.append((pid, stats[pid]))
        queue.extend(children.get(pid, []))
    return found
