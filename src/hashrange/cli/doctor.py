"""`hashrange doctor`: looks for what would keep a server or its clients from working.

It takes the flags of `serve`, starts nothing and changes nothing. Each check returns findings; the
exit status is 1 if one of them is a problem.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from hashrange import __version__
from hashrange.config import Settings, SettingsError, is_loopback, load_settings

_PACKAGES: Final = ("apsw-sqlite3mc", "botocore", "httptools", "orjson")
_PYTHON_LOWEST: Final = (3, 11)
_FREE_BYTES_LOW: Final = 1 << 30
_SYNCS_MAX: Final = 50
_SYNC_SECONDS_MAX: Final = 1.0
_SYNC_BYTES: Final = 4096
_SYNC_SLOW_SECONDS: Final = 0.02
# No disk that survives a power loss is as quick.
_SYNC_DOUBTFUL_SECONDS: Final = 0.00001
_OPEN_FILES_LOW: Final = 1024
_VOLATILE: Final = frozenset({"tmpfs", "ramfs"})
_REMOTE: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"})


class Finding(NamedTuple):
    """One line of the report."""

    level: str
    text: str


def ok(text: str) -> Finding:
    return Finding("ok", text)


def warning(text: str) -> Finding:
    return Finding("warning", text)


def problem(text: str) -> Finding:
    return Finding("problem", text)


def run(flags: dict[str, object], environment: Mapping[str, str]) -> int:
    """Print the report; return the exit status."""
    findings = list(examine(flags, environment))
    for finding in findings:
        sys.stdout.write(f"{finding.level:8} {finding.text}\n")
    count = sum(finding.level == "problem" for finding in findings)
    sys.stdout.write(f"{count or 'no'} problem{'' if count == 1 else 's'} found\n")
    return 1 if count else 0


def examine(flags: dict[str, object], environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield all findings."""
    yield from check_versions()
    yield from check_open_files()
    try:
        settings = load_settings(flags, environment)
    except SettingsError as error:
        yield problem(f"settings: {error}")
        return
    yield from check_port(settings.host, settings.port)
    if settings.in_memory:
        yield ok("data: in memory, nothing on disk")
    elif settings.is_clustered:
        yield from check_cluster(settings)
    else:
        yield from check_directory(settings.data_dir.absolute())
    yield from check_certificate(settings)
    yield from check_exposure(settings)
    yield from check_clients(settings, environment)


def check_cluster(settings: Settings) -> Iterator[Finding]:
    """Look for Cassandra nodes at the contact points."""
    for address in settings.contact_points:
        try:
            socket.create_connection((address, settings.cassandra_port), 2.0).close()
        except OSError as error:
            yield problem(f"data: no Cassandra at {address}:{settings.cassandra_port}: {error}")
        else:
            yield ok(f"data: Cassandra answers at {address}:{settings.cassandra_port}")


def check_versions() -> Iterator[Finding]:
    """Look at the versions of Hashrange, Python and what they run on."""
    python = platform.python_version()
    yield ok(f"Hashrange {__version__}, Python {python}, {platform.platform(terse=True)}")
    if sys.version_info < _PYTHON_LOWEST:
        yield problem(f"Python {python} is too old: 3.11 or newer is needed")
    found = []
    for name in _PACKAGES if sys.platform == "win32" else (*_PACKAGES, "uvloop"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield problem(f"package {name} is not installed")
    yield ok("packages: " + ", ".join(found))


def check_open_files() -> Iterator[Finding]:
    """Look at how many connections the system allows."""
    if sys.platform == "win32":
        return
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed != resource.RLIM_INFINITY and allowed < _OPEN_FILES_LOW:
        yield warning(f"open files: at most {allowed}; connections beyond that are refused")
    else:
        yield ok(f"open files: {'no limit' if allowed == resource.RLIM_INFINITY else allowed}")


def check_port(host: str, port: int) -> Iterator[Finding]:
    """Look at whether a server could listen there."""
    try:
        family, kind, protocol, _, address = min(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE),
            key=lambda entry: entry[0],
        )
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            # A port can be bound to while another program listens there.
            probe.listen()
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            reason = "in use by another program, or by a server that runs already"
        yield problem(f"port: cannot listen on {host} port {port}: {reason}")
    else:
        yield ok(f"port: {host} port {port} is free")


def check_directory(directory: Path) -> Iterator[Finding]:
    """Look at permissions, room and speed where the data is or will be."""
    place = directory
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        yield problem(f"data: {place} is not a directory")
        return
    if not os.access(place, os.W_OK | os.X_OK):
        yield problem(f"data: user {os.geteuid()} may not write to {place}")
        return
    yield ok(f"data: {directory} {'can be written to' if place == directory else 'can be made'}")
    free = shutil.disk_usage(place).free
    level = warning if free < _FREE_BYTES_LOW else ok
    yield level(f"disk: {free / (1 << 30):.1f} GB free")
    kind = file_system_of(place, _mounts())
    if kind in _VOLATILE:
        yield warning(f"disk: {place} is on {kind}: everything is lost when the machine stops")
    elif kind in _REMOTE:
        yield warning(f"disk: {place} is on {kind}: locks and syncs may not keep their promises")
    # Not in the data directory itself, where a server may be at work.
    yield from check_sync(place.parent if place == directory else place, sync_seconds)


def check_sync(place: Path, measure: Callable[[Path], float]) -> Iterator[Finding]:
    """Look at how long the disk takes to make a write durable."""
    try:
        seconds = measure(place)
    except OSError as error:
        yield warning(f"disk: sync speed not measured in {place}: {error.strerror}")
        return
    text = f"disk: a sync takes {seconds * 1000:.2f} ms"
    if seconds > _SYNC_SLOW_SECONDS:
        yield warning(f"{text}, which is slow: each write waits for one")
    elif seconds < _SYNC_DOUBTFUL_SECONDS:
        yield warning(f"{text}: too quick to have reached a disk")
    else:
        yield ok(text)


def sync_seconds(place: Path) -> float:
    """Return the median time of writing and syncing a page in a directory."""
    times: list[float] = []
    started = time.perf_counter()
    with tempfile.TemporaryFile(dir=place, buffering=0) as file:
        while len(times) < _SYNCS_MAX and time.perf_counter() - started < _SYNC_SECONDS_MAX:
            before = time.perf_counter()
            file.write(bytes(_SYNC_BYTES))
            os.fsync(file.fileno())
            times.append(time.perf_counter() - before)
    return statistics.median(times)


def file_system_of(place: Path, mounts: str) -> str:
    """Return the kind of file system a directory is on, as /proc/mounts names it, or nothing."""
    best, kind = "", ""
    for line in mounts.splitlines():
        _, point, found, *_ = line.split(" ")
        if len(point) >= len(best) and place.resolve().is_relative_to(point):
            best, kind = point, found
    return kind


def _mounts() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/mounts").read_text()
    return ""


def check_certificate(settings: Settings) -> Iterator[Finding]:
    """Look at whether the certificate and its key can be used."""
    from hashrange.app.application import certificates_of
    from hashrange.app.engines import StartError

    try:
        if certificates_of(settings) is not None:
            yield ok(f"tls: {settings.tls_cert} and its key can be used")
    except StartError as error:
        yield problem(f"tls: {error}")


def check_exposure(settings: Settings) -> Iterator[Finding]:
    """Look at who can reach the server."""
    if not is_loopback(settings.host) and not settings.is_guarded:
        yield warning(f"access: anybody who reaches {settings.host} can read and change the data")
    if not is_loopback(settings.host) and settings.tls_cert is None:
        yield warning("access: without --tls-cert, anybody on the way can read what is sent")
    if settings.durability == "relaxed":
        yield warning("durability: relaxed; a power loss can take acknowledged writes")


def check_clients(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the variables that decide where clients started from here would go."""
    url = environment.get("AWS_ENDPOINT_URL")
    if environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        yield warning("clients: AWS_IGNORE_CONFIGURED_ENDPOINT_URLS sends them to AWS")
    if url is None and "AWS_ENDPOINT_URL_DYNAMODB" in environment:
        yield warning(
            "clients: AWS_ENDPOINT_URL_DYNAMODB leaves calls of Streams and Lambda going to AWS; "
            "set AWS_ENDPOINT_URL"
        )
    elif url is None:
        yield warning("clients: AWS_ENDPOINT_URL is not set here, so they go to AWS")
    elif urlsplit(url).scheme != settings.scheme:
        yield warning(
            f"clients: AWS_ENDPOINT_URL is {url}, and the server speaks {settings.scheme}"
        )
    elif f":{settings.port}" not in urlsplit(url).netloc:
        yield warning(f"clients: AWS_ENDPOINT_URL is {url}, not port {settings.port}")
    else:
        yield ok(f"clients: AWS_ENDPOINT_URL is {url}")
    if not environment.get("AWS_REGION") and not environment.get("AWS_DEFAULT_REGION"):
        yield warning("clients: neither AWS_REGION nor AWS_DEFAULT_REGION is set")
    if "AWS_ACCESS_KEY_ID" not in environment and "AWS_PROFILE" not in environment:
        yield warning(
            "clients: AWS_ACCESS_KEY_ID is not set; any value will do without --credentials"
        )
    proxy = environment.get("HTTP_PROXY") or environment.get("http_proxy")
    bypassed = environment.get("NO_PROXY", "") + environment.get("no_proxy", "")
    if proxy and "127.0.0.1" not in bypassed and "*" not in bypassed:
        yield warning("clients: HTTP_PROXY is set, and NO_PROXY does not name 127.0.0.1")
