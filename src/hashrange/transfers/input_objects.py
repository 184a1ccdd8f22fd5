"""Walks through the objects below a prefix, record by record, and remembers where it is.

The position is the key of an object and the number of its records that are done. Records before it
are read again, and skipped, when a job goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, final

from hashrange.limits import IMPORT_OBJECTS_MAX
from hashrange.objects.base import ObjectEntry, ObjectStore
from hashrange.services.jobs import JobFailedError
from hashrange.transfers.object_failures import object_failures
from hashrange.transfers.records import Record, RecordReader


@final
@dataclass(slots=True)
class Batch:
    """Some records of an object, and the number of the first of them."""

    key: str
    first: int
    records: list[Record]


@final
class InputObjects:
    """The objects of a bucket whose keys begin with a prefix."""

    def __init__(
        self, objects: ObjectStore, bucket: str, prefix: str, reader: RecordReader
    ) -> None:
        self._objects = objects
        self._bucket = bucket
        self._prefix = prefix
        self._reader = reader

    async def measure(self) -> tuple[int, int]:
        """Return how many objects there are, and their bytes."""
        count = size = 0
        async for entry in self._entries(""):
            count += 1
            size += entry.size
        return count, size

    async def batches(self, progress: dict[str, Any]) -> AsyncIterator[Batch]:
        """Yield the records behind a position, and move the position and count bytes.

        What was yielded counts as done when the next batch is asked for.
        """
        async for entry in self._entries(progress.get("behind", "")):
            done = progress.get("records", 0) if progress.get("object") == entry.key else 0
            progress["object"], progress["records"] = entry.key, done
            number = 0
            with object_failures():
                async for records in self._reader.read(self._bucket, entry.key):
                    left = records[max(0, done - number) :]
                    first = number + len(records) - len(left)
                    number += len(records)
                    if left:
                        yield Batch(entry.key, first, left)
                        progress["records"] = number
            progress["bytes"] = progress.get("bytes", 0) + entry.size
            progress["behind"], progress["records"] = entry.key, 0
            progress["object"] = ""

    async def _entries(self, after: str) -> AsyncIterator[ObjectEntry]:
        count = 0
        while True:
            with object_failures():
                page = await self._objects.page(self._bucket, self._prefix, after=after)
            for entry in page.objects:
                count += 1
                if count > IMPORT_OBJECTS_MAX:
                    raise JobFailedError(
                        "TooManyObjects", f"There are more than {IMPORT_OBJECTS_MAX} objects"
                    )
                yield entry
            if not page.is_truncated:
                return
            after = page.last
