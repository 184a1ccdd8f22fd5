"""Checks and repairs the data directory of a stopped server.

A check changes nothing. A repair sets damaged rows aside and rebuilds what is derived from items:
indexes, tallies, sizes of item collections and expiry rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, strftime
from typing import Final, final

import apsw

from hashrange.engine.base import Engine
from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME
from hashrange.engine.sqlite.engine import DataDirectoryError, SqliteEngine, acquire_directory
from hashrange.engine.sqlite.inspection import Inspection
from hashrange.errors import CorruptionError, EngineError
from hashrange.storage.consistency import MENDED_TOGETHER_MAX, Consistency, Mending
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


def check(path: str, say: Say, say_progress: Say) -> int:
    """Check a data directory; return how many things are wrong with it."""
    progress = _Progress(say_progress)
    count = 0
    with _locked(path, accepts_damaged_log=False) as directory:
        with contextlib.closing(Inspection(directory, progress)) as inspection:
            for problem in inspection.problems():
                count += 1
                say(problem)

        async def check_tables() -> int:
            engine = SqliteEngine.open(directory)
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


def repair(path: str, say: Say, say_progress: Say) -> int:
    """Repair a data directory; return how many things could not be mended."""
    progress = _Progress(say_progress)
    _keep_log(Path(path), say)
    with _locked(path, accepts_damaged_log=True) as directory:
        with contextlib.closing(Inspection(directory, progress)) as inspection:
            for deed in inspection.mend():
                say(deed)

        async def mend_tables() -> int:
            engine = SqliteEngine.open(directory)
            try:
                return await _mend(engine, say, progress)
            finally:
                await engine.close()

        left = asyncio.run(mend_tables())
    say_progress(f"{progress.rows} rows checked, {left} problems left")
    return left


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


@contextlib.contextmanager
def _locked(path: str, *, accepts_damaged_log: bool) -> Iterator[Path]:
    """Lock the directory of a stopped server, and translate what goes wrong with it."""
    if not (Path(path) / DATABASE_NAME).exists():
        raise MaintenanceError(f"{path} is not a data directory: it has no {DATABASE_NAME}.")
    try:
        lock = acquire_directory(path, accepts_damaged_log=accepts_damaged_log)
        try:
            yield lock.path
        finally:
            lock.release()
    except DataDirectoryError as error:
        raise MaintenanceError(str(error)) from error
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
