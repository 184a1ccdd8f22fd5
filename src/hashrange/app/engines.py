"""Opens the engine that the settings ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Protocol, runtime_checkable

from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.errors import EngineError
from hashrange.wire.http.router import Health, no_health

try:
    from hashrange.engine.sqlite.encryption import EncryptionError, object_keys, root_key
    from hashrange.engine.sqlite.engine import (
        DataDirectoryError,
        SqliteEngine,
        acquire_directory,
        wait_for_workers,
    )
except ImportError:  # no file locks as of POSIX, as on Windows
    HAS_FILES = False
else:
    HAS_FILES = True


class StartError(Exception):
    """The server cannot start; the message says why, for people."""


def wait_for_last_server(settings: Settings) -> None:
    """Wait until a server that was killed has let go of the data and of its port."""
    if not settings.in_memory and not settings.is_clustered:
        if not HAS_FILES:
            raise StartError(
                "Data on disk needs file locks that this system lacks; start with --in-memory."
            )
        wait_for_workers(settings.data_dir)


def reserve_data(
    settings: Settings, server_key: bytes | None = None
) -> AbstractContextManager[object]:
    """Make sure the data is there and nobody else's; done once, before any process opens it."""
    if settings.in_memory or settings.is_clustered:
        return nullcontext()
    try:
        lock = acquire_directory(settings.data_dir, server_key=server_key)
    except DataDirectoryError as error:
        raise StartError(str(error)) from error
    stack = ExitStack()
    stack.callback(lock.release)
    return stack


@runtime_checkable
class _TellsHealth(Protocol):
    """An engine that may work or not, because others keep its data."""

    def health(self) -> tuple[bool, dict[str, object]]: ...


def health_of(engine: Engine) -> Health:
    """Return the function that tells of an engine's health."""
    return engine.health if isinstance(engine, _TellsHealth) else no_health


def open_engine(settings: Settings, server_key: bytes | None = None) -> Engine:
    """Return the engine the settings ask for."""
    if settings.in_memory:
        return MemoryEngine()
    if settings.is_clustered:
        return _open_cassandra(settings)
    try:
        return SqliteEngine.open(
            settings.data_dir,
            durability=settings.durability,
            writes_together=settings.workers > 1,
            server_key=server_key,
        )
    except DataDirectoryError as error:
        raise StartError(str(error)) from error


def _open_cassandra(settings: Settings) -> Engine:
    """Connect to the cluster; the driver is imported by those who use one."""
    try:
        from hashrange.engine.cassandra.engine import Access, CassandraEngine, Demands
    except ImportError as error:
        raise StartError(
            f"Engine cassandra needs its driver ({error}): pip install cassandra-driver"
        ) from error
    password = settings.cassandra_password_file
    try:
        return CassandraEngine.open(
            Access(
                contact_points=settings.contact_points,
                port=settings.cassandra_port,
                datacenter=settings.datacenter,
                user=settings.cassandra_user,
                password="" if password is None else password.read_text().strip(),
                certificate_authority=settings.cassandra_ca,
            ),
            settings.keyspace,
            Demands(settings.replication, settings.allow_periodic_commit_log),
            shards=settings.table_shards,
        )
    except (EngineError, OSError) as error:
        raise StartError(str(error)) from error


def find_root_key(settings: Settings, server_key: bytes) -> bytes:
    """Return the key that secrets in the rows of the data directory are sealed under."""
    with _start_errors(settings):
        return root_key(settings.data_dir, server_key)


def find_object_keys(settings: Settings, server_key: bytes) -> list[bytes]:
    """Return the keys that seal the files of buckets, the newest first; none if they are plain."""
    with _start_errors(settings):
        return object_keys(settings.data_dir, server_key)


@contextmanager
def _start_errors(settings: Settings) -> Iterator[None]:
    try:
        yield
    except (EncryptionError, OSError) as error:
        raise StartError(f"Cannot use data directory {settings.data_dir}: {error}.") from error
