"""Writes the files of a folder of buckets anew in another way: sealed, plain, or with another key.

Each file is written beside the old one, synced, and takes its place in one step, with its time. The
facts of an object come first and hold for both files. So a process that is killed at any moment
leaves every object readable in the old way or in the new one, and the next run goes on. No server
uses the folder meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, final

from hashrange.objects.base import ObjectStoreError
from hashrange.objects.files import (
    make_folder,
    open_private,
    sync_folder,
    write_all,
    write_small,
)
from hashrange.objects.folder import facts_folder, uploads_folder, walk_objects
from hashrange.objects.multipart import (
    UPLOAD_FACTS,
    PartEntry,
    copy_content,
    list_parts,
    part_name,
)
from hashrange.objects.names import check_bucket_name, key_parts
from hashrange.objects.seals import (
    Content,
    Seal,
    object_subject,
    part_subject,
    upload_subject,
)
from hashrange.sealing import SealError

# A bucket that was being deleted.
_is_doomed: Final = re.compile(r"\.[a-z0-9.-]{3,63}\.[0-9a-f]{8}").fullmatch
_is_temporary: Final = re.compile(r"\.[0-9a-f]{16}").fullmatch

Progress = Callable[[int], None]
"""Told how many bytes were written."""


@final
class FolderConversion:
    """Brings a folder of buckets from some seals to another one."""

    def __init__(self, root: Path, old: Sequence[Seal], new: Seal, progress: Progress) -> None:
        self._root = root
        self._old = old
        self._new = new
        self._progress = progress
        self.written = 0
        """How many objects and parts were written anew."""
        self.unreadable: list[str] = []
        """The objects and parts that could not be read, and were left as they are."""

    def run(self) -> None:
        """Convert the whole folder, if it is there."""
        if not self._root.is_dir():
            return
        for folder in sorted(self._root.iterdir()):
            if _is_doomed(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            with contextlib.suppress(ObjectStoreError):
                check_bucket_name(folder.name)
                if folder.is_dir():
                    self._convert_bucket(folder)

    def _convert_bucket(self, folder: Path) -> None:
        for key, path in walk_objects(folder):
            self._convert_object(folder, key, Path(path))
        facts, uploads = facts_folder(folder), uploads_folder(folder)
        for left in list(facts.rglob(".*")) if facts.is_dir() else ():
            if _is_temporary(left.name):
                left.unlink()
        for upload in list(uploads.iterdir()) if uploads.is_dir() else ():
            if upload.is_dir():
                self._convert_upload(folder.name, upload)
            else:
                upload.unlink()  # of a server that was killed

    def _convert_object(self, folder: Path, key: str, path: Path) -> None:
        subject = object_subject(folder.name, key)
        facts_path = facts_folder(folder).joinpath(*key_parts(key))
        facts = self._facts(subject, facts_path)
        new = self._copy(path, subject, uploads_folder(folder), facts)
        if new is not None:
            if facts:
                write_small(facts_path, self._new.pack_facts(subject, facts))
            self._put(new, path)

    def _convert_upload(self, bucket: str, folder: Path) -> None:
        for path in list(folder.iterdir()):
            if _is_temporary(path.name):
                path.unlink()
        subject = upload_subject(bucket, folder.name)
        facts = self._facts(subject, folder / UPLOAD_FACTS)
        if not facts:
            shutil.rmtree(folder)  # nobody can go on with it
            return
        for seal in self._old:
            for part in list_parts(folder, bucket, seal):
                self._convert_part(bucket, part)
        write_small(folder / UPLOAD_FACTS, self._new.pack_facts(subject, facts))

    def _convert_part(self, bucket: str, part: PartEntry) -> None:
        folder = part.path.parent
        subject = part_subject(bucket, folder.name, part.number)
        new = self._copy(part.path, subject, folder, {})
        if new is not None:
            label = self._new.label(subject, part.etag)
            self._put(new, folder / part_name(part.number, label))
            part.path.unlink()

    def _facts(self, subject: str, path: Path) -> dict[str, Any]:
        """Return facts in whatever way they were written."""
        try:
            content = path.read_bytes()
        except OSError:
            return {}
        found = (seal.unpack_facts(subject, content) for seal in (self._new, *self._old))
        return next((facts for facts in found if facts), {})

    def _copy(self, path: Path, subject: str, folder: Path, facts: dict[str, Any]) -> Path | None:
        """Write a file in the new way, into a folder; None if it is in that way or unreadable."""
        status = path.stat()
        is_known = facts.get("time") == status.st_mtime_ns
        content = self._open(path, subject, facts["size"] if is_known else None)
        if content is None:
            return None
        make_folder(folder)
        new = folder / f".{secrets.token_hex(8)}"
        writer = self._new.writer(subject)
        with contextlib.closing(content), open_private(new) as file:
            try:
                copy_content(content, file, writer)
            except SealError:
                new.unlink()
                self.unreadable.append(subject)
                return None
            write_all(file, writer.finish())
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(file.fileno())
        self._progress(content.size)
        return new

    def _open(self, path: Path, subject: str, size: int | None) -> Content | None:
        """Open a file in one of the old ways; None if it is in the new one, or unreadable.

        A known size tells a plain file from a sealed one whose beginning is damaged.
        """
        for seal in (self._new, *self._old):
            try:
                content = seal.open(path, subject)
            except (SealError, ObjectStoreError):
                continue
            is_right = size in (None, content.size)
            if is_right and seal is not self._new:
                return content
            content.close()
            if is_right:
                return None
        self.unreadable.append(subject)
        return None

    def _put(self, new: Path, path: Path) -> None:
        new.replace(path)
        sync_folder(path.parent)
        self.written += 1
