"""Reads the records of objects: items in DynamoDB JSON, Ion or CSV, a few at a time.

A record is an item with what stands beside it, or the reason why it cannot be read. A damaged
object gives the records before the damage, then one record that says what is wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, final

import orjson

from hashrange.limits import IMPORT_BATCH_RECORDS, IMPORT_RECORD_BYTES_MAX
from hashrange.model.values import Item
from hashrange.objects.base import ObjectStore
from hashrange.services.job_pace import Pieces
from hashrange.services.jobs import JobFailedError
from hashrange.transfers.data_files import Blocking
from hashrange.transfers.decompression import DecompressionError, decompressed
from hashrange.transfers.formats.csv_items import CsvError, CsvItems, RecordSplitter
from hashrange.transfers.formats.ion_values import (
    IonMissingError,
    Readable,
    ion_to_item,
    read_ion,
)
from hashrange.transfers.sealed_spool import SealedSpool

_NO_ITEM: Final = "The record has no Item"


@final
@dataclass(slots=True)
class Record:
    """One record of an object."""

    item: Item = field(default_factory=dict)
    error: str = ""
    beside: dict[str, Any] = field(default_factory=dict)
    """The other members of the record."""


@final
@dataclass(frozen=True, slots=True)
class InputForm:
    """How objects are written; `csv` makes a reader for each object."""

    format: str
    compression: str
    csv: Callable[[], CsvItems] | None = None


@final
class RecordReader:
    """Reads objects of one form."""

    def __init__(
        self, objects: ObjectStore, form: InputForm, blocking: Blocking, pieces: Pieces
    ) -> None:
        """`pieces` tells how many records to read at a time."""
        self._objects = objects
        self._form = form
        self._blocking = blocking
        self._pieces = pieces

    async def read(self, bucket: str, key: str) -> AsyncIterator[list[Record]]:
        """Yield the records of an object."""
        chunks = self._objects.read(bucket, key)
        pieces = decompressed(chunks, self._form.compression, self._blocking)
        batches = self._ion(pieces) if self._form.format == "ION" else self._lines(pieces)
        try:
            async for batch in batches:
                yield batch
        except DecompressionError as error:
            yield [Record(error=str(error))]

    async def _lines(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Record]]:
        parse = _parse_json if self._form.csv is None else _CsvRecords(self._form.csv()).parse
        rest = b""
        async for piece in pieces:
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            start = 0
            while start < len(lines):
                batch = lines[start : start + self._count()]
                start += len(batch)
                yield [found for line in batch if (found := parse(line)) is not None]
            if len(rest) > IMPORT_RECORD_BYTES_MAX:
                raise DecompressionError("a record is too long")
        found = parse(rest)
        if found is not None:
            yield [found]

    async def _ion(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Record]]:
        """Ion is read from a file: its reader wants to pull, and values have no lines."""
        with SealedSpool() as spool:
            async for piece in pieces:
                await self._blocking.call(spool.write, piece)
            await self._blocking.call(spool.rewind)
            records = _ion_records(spool)
            while batch := await self._blocking.call(list, islice(records, self._count())):
                yield batch

    def _count(self) -> int:
        return self._pieces.rows(IMPORT_BATCH_RECORDS)


def _ion_records(file: Readable) -> Iterator[Record]:
    values = read_ion(file)
    while True:
        try:
            value = next(values)
        except StopIteration:
            return
        except IonMissingError as error:
            raise JobFailedError("InvalidInputFormat", str(error)) from error
        except Exception as error:  # noqa: BLE001 - the library raises many kinds for bad input
            yield Record(error=f"The content is not Ion: {error}")
            return
        yield _ion_record(value)


def _ion_record(value: Any) -> Record:
    struct = value.get("Item") if hasattr(value, "get") else None
    if struct is None or not hasattr(struct, "items"):
        return Record(error=_NO_ITEM)
    try:
        beside = {str(name): value[name] for name in value if str(name) != "Item"}
        return Record(ion_to_item(struct), beside=ion_beside(beside))
    except ValueError as error:
        return Record(error=str(error))


def ion_beside(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members beside an item as DynamoDB JSON has them."""
    found: dict[str, Any] = {}
    for name, member in members.items():
        if name == "ExpressionAttributeValues":
            found[name] = ion_to_item(member)
        elif hasattr(member, "items"):
            found[name] = {str(key): str(content) for key, content in member.items()}
        else:
            found[name] = str(member)
    return found


def _parse_json(line: bytes) -> Record | None:
    if not line.strip():
        return None
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Record(error=f"The record is not JSON: {error}")
    item = record.pop("Item", None) if isinstance(record, dict) else None
    if not isinstance(item, dict):
        return Record(error=_NO_ITEM)
    return Record(item, beside=record)


@final
class _CsvRecords:
    """Parses the lines of one CSV object."""

    def __init__(self, items: CsvItems) -> None:
        self._items = items
        self._splitter = RecordSplitter()

    def parse(self, line: bytes) -> Record | None:
        record = self._splitter.add(line.removesuffix(b"\r"))
        if record is None or not record.strip():
            return None
        try:
            item = self._items.read(record)
        except CsvError as error:
            return Record(error=str(error))
        return None if item is None else Record(item)
