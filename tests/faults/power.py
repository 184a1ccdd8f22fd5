"""A file system that remembers what was synced, and the images a loss of power could leave.

`Recorder` registers a SQLite VFS that passes everything through to real files and keeps a journal
of writes, truncations, syncs and deletions. `images` replays the journal up to some moment: what
was synced is there; of everything younger, each 512-byte sector is there or not, as the dice fall.
It also fails on demand: a sync that fails may have lost any part of what it was to write, and a
later successful sync does not bring that back.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn, final

import apsw

SECTOR_BYTES: Final = 512
SYNC_FAILURE_CHANCE: Final = 0.1
WRITE_FAILURE_CHANCE: Final = 0.002


@final
class Event:
    """One thing that happened: to a file, or (ack, refusal, unknown) to what callers know.

    The offset of a sync is the length of the journal when it began: what another thread wrote
    meanwhile may have come too late for it.
    """

    __slots__ = ("content", "file", "kind", "offset")

    def __init__(self, kind: str, file: str, content: bytes = b"", offset: int = 0) -> None:
        self.kind = kind
        self.file = file
        self.content = content
        self.offset = offset


ON_LOOP = 60.0
IN_THREAD = 0.0


class Recorder(apsw.VFS):
    """The recording VFS; `name` goes to the engine, `journal` to `images`."""

    _count = 0

    def __init__(self) -> None:
        Recorder._count += 1
        self.name = f"recorder{os.getpid()}x{Recorder._count}"
        self.journal: list[Event] = []
        self.syncing_threads: set[str] = set()
        self.failing_syncs = 0
        self.failing_files: set[str] = set()
        # How often each file failed to be written; each of its handles hears of that, as on Linux.
        self.failures: Counter[str] = Counter()
        self.room_bytes: int | None = None
        # Below which time of its commits the engine waits for them on its event loop.
        self.quick_seconds = ON_LOOP
        # How many engines write, together if there are more than one.
        self.engines = 1
        # Decides before each sync and write whether it fails; None: never.
        self.mishaps: random.Random | None = None
        super().__init__(self.name, "unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        super().xDelete(filename, syncdir)
        self.journal.append(Event("delete", os.path.basename(filename), offset=int(syncdir)))

    def before_sync(self, file: str) -> None:
        """For tests that want to be asked first."""

    def acknowledge(self, number: int) -> None:
        """Note that the test was told, at this moment, that something is durable."""
        self.journal.append(Event("ack", "", offset=number))

    def refuse(self, number: int) -> None:
        """Note that the test was told, at this moment, that something did not happen."""
        self.journal.append(Event("refusal", "", offset=number))

    def wonder(self, number: int) -> None:
        """Note that the test was told, at this moment, that nobody knows."""
        self.journal.append(Event("unknown", "", offset=number))

    def excepthook(self, *_: object) -> bool:
        """Keep quiet: the error reaches the caller anyhow."""
        return True


class _RecordedFile(apsw.VFSFile):
    def __init__(
        self, recorder: Recorder, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary"
        self.file = os.path.basename(path)
        self.recorder = recorder
        self.failures_heard = recorder.failures[self.file]
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        recorder = self.recorder
        if recorder.room_bytes is not None:
            recorder.room_bytes -= len(data)
            if recorder.room_bytes < 0:
                raise apsw.FullError("no room, as planned")
        if recorder.mishaps is not None and recorder.mishaps.random() < WRITE_FAILURE_CHANCE:
            raise apsw.FullError("no room, by chance")
        super().xWrite(data, offset)
        recorder.journal.append(Event("write", self.file, bytes(data), offset))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        super().xTruncate(newsize)
        self.recorder.journal.append(Event("truncate", self.file, offset=newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        recorder = self.recorder
        recorder.before_sync(self.file)
        if recorder.failing_syncs > 0 or self.file in recorder.failing_files:
            recorder.failing_syncs = max(0, recorder.failing_syncs - 1)
            self._fail("sync failed, as planned")
        if recorder.mishaps is not None and recorder.mishaps.random() < SYNC_FAILURE_CHANCE:
            self._fail("sync failed, by chance")
        if self.failures_heard < recorder.failures[self.file]:
            self.failures_heard = recorder.failures[self.file]
            raise apsw.IOError("sync failed before")
        began_at = len(recorder.journal)
        super().xSync(flags)
        recorder.journal.append(Event("sync", self.file, offset=began_at))
        recorder.syncing_threads.add(threading.current_thread().name)

    def _fail(self, reason: str) -> NoReturn:
        self.recorder.journal.append(Event("failed sync", self.file))
        self.recorder.failures[self.file] += 1
        self.failures_heard = self.recorder.failures[self.file]
        raise apsw.IOError(reason)

    def excepthook(self, *_: object) -> bool:
        """Keep quiet: the error reaches the caller anyhow."""
        return True


@final
class Told:
    """What callers had been told at the moment power was lost."""

    def __init__(self) -> None:
        self.acknowledged: set[int] = set()
        self.refused: set[int] = set()
        self.unknown: set[int] = set()

    def note(self, event: Event) -> None:
        told = {"ack": self.acknowledged, "refusal": self.refused, "unknown": self.unknown}
        told[event.kind].add(event.offset)


@final
class _File:
    """What is surely on disk (None: no such file), and what happened since."""

    def __init__(self, durable: bytearray | None) -> None:
        self.durable = durable
        self.pending: list[tuple[int, Event]] = []  # with their places in the journal

    def sync(self, began_at: int) -> None:
        covered = [event for place, event in self.pending if place < began_at]
        self.durable = _applied(self.durable, covered, None)
        self.pending = self.pending[len(covered) :]

    def fail_sync(self, dice: random.Random) -> None:
        self.durable = self.image(dice)
        self.pending = []

    def image(self, dice: random.Random) -> bytearray | None:
        return _applied(self.durable, [event for _, event in self.pending], dice)


def _applied(
    durable: bytearray | None, pending: list[Event], dice: random.Random | None
) -> bytearray | None:
    """Apply events, or with dice a random part of them."""
    content = None if durable is None else bytearray(durable)
    # Each image has its own likelihood, so that all, nearly all, few and none come up.
    chance = 1.0 if dice is None else dice.choice([0.0, 0.2, 0.5, 0.8, 0.98, 1.0])
    for event in pending:
        if event.kind == "write":
            for start, sector in _sectors(event):
                if dice is None or dice.random() < chance:
                    content = bytearray() if content is None else content
                    if len(content) < start:
                        content.extend(bytes(start - len(content)))
                    content[start : start + len(sector)] = sector
        elif dice is None or dice.random() < chance:
            content = None if event.kind == "delete" else _truncated(content, event.offset)
        elif event.kind == "delete":
            # The old file is still the one by that name; what follows went to another.
            return content
    return content


def _truncated(content: bytearray | None, size: int) -> bytearray:
    content = bytearray() if content is None else content
    return content[:size] if size <= len(content) else content + bytes(size - len(content))


def _sectors(event: Event) -> Iterator[tuple[int, bytes]]:
    start, end = event.offset, event.offset + len(event.content)
    while start < end:
        stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        yield start, event.content[start - event.offset : stop - event.offset]
        start = stop


def images(
    before: dict[str, bytes], journal: list[Event], moments: list[int], dice: random.Random
) -> Iterator[tuple[Told, dict[str, bytes]]]:
    """For each moment yield what had been told by then and the files a power loss could leave."""
    files = {name: _File(bytearray(content)) for name, content in before.items()}
    told = Told()
    position = 0
    for moment in sorted(moments):
        for place, event in enumerate(journal[position:moment], position):
            if not event.file:
                told.note(event)
                continue
            file = files.setdefault(event.file, _File(None))
            if event.kind == "sync":
                file.sync(event.offset)
            elif event.kind == "failed sync":
                file.fail_sync(dice)
            else:
                file.pending.append((place, event))
                if event.kind == "delete" and event.offset:
                    file.sync(place + 1)
        position = moment
        left = {name: file.image(dice) for name, file in files.items()}
        yield (
            told,
            {name: bytes(content) for name, content in left.items() if content is not None},
        )


def restore(directory: Path, files: dict[str, bytes]) -> None:
    """Write an image into a fresh directory."""
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_bytes(content)
