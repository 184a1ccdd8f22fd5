"""Checks, repairs, encrypts and decrypts the data directory of a stopped server.

A check changes nothing. A repair sets damaged rows aside and rebuilds what is derived from items:
indexes, tallies, sizes of item collections and expiry rows. Where pages cannot be read, it saves
the others. A change of encryption that is
interrupted leaves the directory as it was, or as it was to be.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic, strftime
from typing import Final, final

import apsw

from hashrange.app.locksmith import TableLocksmith
from hashrange.app.transfers import BUCKETS
from hashrange.clock import SystemClock
from hashrange.engine.base import Engine
from hashrange.engine.sqlite.conversion import rewrite_database
from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME
from hashrange.engine.sqlite.encryption import (
    EncryptionError,
    Mark,
    PageKey,
    key_id,
    make_mark,
    make_page_key,
    open_encryption,
    read_mark,
    root_key,
    write_mark,
)
from hashrange.engine.sqlite.engine import DataDirectoryError, SqliteEngine, acquire_directory
from hashrange.engine.sqlite.inspection import Inspection
from hashrange.engine.sqlite.salvage import salvage
from hashrange.errors import CorruptionError, EngineError
from hashrange.keyring.store import KeyStore
from hashrange.keyring.table_keys import TableKeys
from hashrange.objects.conversion import FolderConversion
from hashrange.objects.seals import PLAIN, KeySeal, Seal
from hashrange.sealing import KEY_BYTES, SealError, Vault
from hashrange.server_key import default_key_file, load_server_key
from hashrange.storage.consistency import MENDED_TOGETHER_MAX, Consistency, Mending
from hashrange.storage.sealed_engine import SealedEngine
from hashrange.storage.table_check import Finding

_PROGRESS_SECONDS: Final = 2.0

Say = Callable[[str], None]
"""Told what was found, a line at a time."""


class MaintenanceError(Exception):
    """The directory cannot be checked or repaired; the message says why, for people."""


@final
class _Progress:
    """Says now and then how many rows were checked."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._due_at = monotonic() + _PROGRESS_SECONDS
        self.rows = 0

    def __call__(self, rows: int) -> None:
        self.rows += rows
        if monotonic() >= self._due_at:
            self._due_at = monotonic() + _PROGRESS_SECONDS
            self._say(f"{self.rows} rows checked")


def check(path: str, key: bytes | None, say: Say, say_progress: Say) -> int:
    """Check a data directory; return how many things are wrong with it."""
    progress = _Progress(say_progress)
    count = 0
    with _locked(path, key) as directory:
        with contextlib.closing(_inspect(directory, key, progress)) as inspection:
            for problem in inspection.problems():
                count += 1
                say(problem)

        async def check_tables() -> int:
            engine = _open_engine(directory, key)
            found = 0
            try:
                async for subject, finding in Consistency(engine, progress).findings():
                    found += 1
                    say(f"{subject}: {finding.text}")
            finally:
                await engine.close()
            return found

        count += asyncio.run(check_tables())
    say_progress(f"{progress.rows} rows checked, {count} problems found")
    return count


def repair(path: str, key: bytes | None, say: Say, say_progress: Say) -> int:
    """Repair a data directory; return how many things could not be mended."""
    progress = _Progress(say_progress)
    _keep_log(Path(path), say)
    with _locked(path, key, accepts_damaged_log=True) as directory:
        if not _mend_database(directory, key, say, progress):
            salvage(directory, _page_key_of(directory, key), say)
            if not _mend_database(directory, key, say, progress):
                raise MaintenanceError(f"{path} is damaged too badly to be repaired.")

        async def mend_tables() -> int:
            engine = _open_engine(directory, key)
            try:
                return await _mend(engine, say, progress)
            finally:
                await engine.close()

        left = asyncio.run(mend_tables())
    say_progress(f"{progress.rows} rows checked, {left} problems left")
    return left


def _mend_database(directory: Path, key: bytes | None, say: Say, progress: _Progress) -> bool:
    """Mend the database below the engine; tell whether all of its pages could be read."""
    with contextlib.closing(_inspect(directory, key, progress)) as inspection:
        try:
            for deed in inspection.mend():
                say(deed)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            say(f"the database cannot be mended: {error}")
            return False
        return not inspection.unreadable


async def _mend(engine: Engine, say: Say, progress: _Progress) -> int:
    """Mend what the check of tables and streams finds; return how much is left."""
    left = 0
    waiting: list[Finding] = []
    async for subject, finding in Consistency(engine, progress).findings():
        if finding.is_mendable:
            say(f"{subject}: {finding.text}; mended")
            waiting.append(finding)
        else:
            left += 1
            say(f"{subject}: {finding.text}; cannot be mended")
        if len(waiting) >= MENDED_TOGETHER_MAX:
            await engine.write(Mending(waiting))
            waiting = []
    if waiting:
        await engine.write(Mending(waiting))
    return left


def encrypt(
    path: str,
    key: bytes,
    secrets_key: bytes | None,
    say_progress: Say,
    bucket_dir: Path | None = None,
) -> None:
    """Encrypt a plain data directory and its buckets; or plain files in those of an encrypted one.

    Secrets in the directory may be sealed under a key of their own.
    """
    is_marked = read_mark(Path(path)) is not None
    with _locked(path, key if is_marked else None, accepts_interrupted=True) as directory:
        mark = read_mark(directory)
        is_plain = mark is None or _page_key(directory, key) is None
        older = [] if mark is None else mark.object_keys(key)
        mark = mark or make_mark(key, secrets_key or key)
        if is_plain:
            # The root key may be a server's key, which then seals no files.
            mark = mark.with_objects(key, [os.urandom(KEY_BYTES), *older])
            _rewrite(directory, key, mark, (None, make_page_key()), say_progress)
        seal = KeySeal(mark.object_keys(key))
        count = _convert_buckets(bucket_dir or directory / BUCKETS, [PLAIN], seal, say_progress)
        if not is_plain and not count:
            raise MaintenanceError(f"{path} is encrypted already; `hashrange rekey` changes that.")


def decrypt(path: str, key: bytes, say_progress: Say, bucket_dir: Path | None = None) -> None:
    """Make an encrypted data directory and its buckets plain; secrets stay sealed under the key."""
    mark = read_mark(Path(path))
    if mark is None:
        raise MaintenanceError(f"{path} is not encrypted.")
    with _locked(path, key, accepts_interrupted=True) as directory:
        seal = KeySeal(mark.object_keys(key))
        count = _convert_buckets(bucket_dir or directory / BUCKETS, [seal], PLAIN, say_progress)
        if not mark.pages:
            if not count:
                raise MaintenanceError(f"{path} is not encrypted.")
            return
        page_key = _page_key(directory, key)
        if page_key is None:
            # Interrupted just before its end, or an encryption was: either way it is plain.
            write_mark(directory, mark.with_pages(key, []))
        else:
            _rewrite(directory, key, mark, (page_key, None), say_progress)


def rekey(
    path: str,
    key: bytes,
    new_key: bytes,
    *,
    pages: bool,
    say_progress: Say,
    bucket_dir: Path | None = None,
) -> None:
    """Change the key of a data directory; with `pages`, encrypt all of its data anew as well."""
    is_marked = read_mark(Path(path)) is not None
    with _locked(path, key if is_marked else None) as directory:
        mark = (read_mark(directory) or make_mark(key, key)).rekeyed(key, new_key)
        write_mark(directory, mark)
        page_key = _page_key(directory, new_key)
        if not pages or page_key is None:
            return
        old, new = mark.object_keys(new_key), os.urandom(KEY_BYTES)
        mark = mark.with_objects(new_key, [new, *old])
        _rewrite(directory, new_key, mark, (page_key, make_page_key()), say_progress)
        folder = bucket_dir or directory / BUCKETS
        _convert_buckets(folder, [KeySeal(old)], KeySeal([new]), say_progress)


def _convert_buckets(folder: Path, old: Sequence[Seal], new: Seal, say_progress: Say) -> int:
    """Write the files of buckets anew; return how many there were, and raise if some are left."""
    written = 0
    due_at = monotonic() + _PROGRESS_SECONDS

    def report(size: int) -> None:
        nonlocal written, due_at
        written += size
        if monotonic() >= due_at:
            due_at = monotonic() + _PROGRESS_SECONDS
            say_progress(f"{written >> 20} MB of objects written")

    conversion = FolderConversion(folder, old, new, report)
    conversion.run()
    for subject in conversion.unreadable:
        say_progress(f"{subject} cannot be read; it was left as it is")
    if conversion.unreadable:
        raise MaintenanceError(
            f"{len(conversion.unreadable)} files in {folder} cannot be read. Bring them back from "
            "a copy or delete them, and run it again."
        )
    return conversion.written


def describe_key(key: bytes) -> str:
    """Return what a key is called in the file ENCRYPTION and in refusals."""
    return key_id(key)


def _rewrite(
    directory: Path,
    key: bytes,
    mark: Mark,
    page_keys: tuple[PageKey | None, PageKey | None],
    say_progress: Say,
) -> None:
    due_at = monotonic() + _PROGRESS_SECONDS

    def report(done: int, total: int) -> None:
        nonlocal due_at
        if monotonic() >= due_at:
            due_at = monotonic() + _PROGRESS_SECONDS
            say_progress(f"{done >> 20} of about {total >> 20} MB written")

    rewrite_database(directory, key, mark, page_keys, report)


def _page_key(directory: Path, key: bytes) -> PageKey | None:
    """Return the key of the pages as they are; None if they are plain."""
    return open_encryption(directory / DATABASE_NAME, key, accepts_interrupted=True).page_key


def _open_engine(directory: Path, key: bytes | None) -> Engine:
    """Open the engine, with the keys of tables that are encrypted with a KMS key if they open."""
    engine = SqliteEngine.open(directory, server_key=key)

    def load_root_key() -> bytes:
        server_key = key
        if server_key is None:
            path = default_key_file(directory)
            if not path.exists():
                raise SealError
            server_key = load_server_key(path, may_create=False)
        return root_key(directory, server_key)

    keyring = KeyStore(Vault(load_root_key))
    keyring.open(engine)
    return SealedEngine(engine, TableLocksmith(TableKeys(keyring, SystemClock())))


def _inspect(directory: Path, key: bytes | None, progress: _Progress) -> Inspection:
    return Inspection(directory, progress, _page_key_of(directory, key))


def _page_key_of(directory: Path, key: bytes | None) -> PageKey | None:
    return open_encryption(directory / DATABASE_NAME, key).page_key


@contextlib.contextmanager
def _locked(
    path: str,
    key: bytes | None,
    *,
    accepts_damaged_log: bool = False,
    accepts_interrupted: bool = False,
) -> Iterator[Path]:
    """Lock the directory of a stopped server, and translate what goes wrong with it."""
    if not (Path(path) / DATABASE_NAME).exists():
        raise MaintenanceError(f"{path} is not a data directory: it has no {DATABASE_NAME}.")
    try:
        lock = acquire_directory(
            path,
            accepts_damaged_log=accepts_damaged_log,
            accepts_interrupted=accepts_interrupted,
            server_key=key,
        )
        try:
            yield lock.path
        finally:
            lock.release()
    except DataDirectoryError as error:
        raise MaintenanceError(str(error)) from error
    except EncryptionError as error:
        raise MaintenanceError(f"Cannot use data directory {path}: {error}.") from error
    except (apsw.Error, CorruptionError, EngineError) as error:
        raise MaintenanceError(f"{path} is damaged too badly to be read: {error}") from error


def _keep_log(directory: Path, say: Say) -> None:
    """Keep a copy of the log, of which a repair may give up a part."""
    log = directory / LOG_NAME
    if log.is_symlink() or not log.is_file() or not log.stat().st_size:
        return
    copy = directory.absolute().parent / f"{directory.name}-log-{strftime('%Y%m%d-%H%M%S')}"
    with log.open("rb") as source, os.fdopen(_open_copy(copy), "wb") as target:
        shutil.copyfileobj(source, target)
    say(f"the log of the directory was copied to {copy}")


def _open_copy(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
