"""Imports: the job that fills a new table with the items of objects.

The table is CREATING until all objects are read. Bad records are counted and logged; the table then
holds the good ones, and the import ends FAILED, as on AWS. An import that cannot go on drops the
table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, final

import orjson

from hashrange.api.items.item_writes import check_put
from hashrange.api.items.keys import check_index_keys, put_key
from hashrange.engine.base import Engine
from hashrange.errors import ClientError, ResourceInUseException, ResourceNotFoundException
from hashrange.limits import IMPORT_ERRORS_KEPT_MAX, IMPORT_LOAD_RECORDS, IMPORT_SAVE_RECORDS
from hashrange.model.jobs import COMPLETED, FAILED
from hashrange.model.records import TableRecord, unpack_record
from hashrange.model.schema import Table
from hashrange.model.values import BARE
from hashrange.objects.base import ObjectStore
from hashrange.services.bulk_load import BulkLoad, Entry
from hashrange.services.jobs import Job, JobFailedError
from hashrange.storage.catalog import Catalog
from hashrange.storage.layout import pack_item
from hashrange.transfers.data_files import Blocking
from hashrange.transfers.formats.csv_items import CsvItems
from hashrange.transfers.input_objects import Batch, InputObjects
from hashrange.transfers.object_failures import check_bucket
from hashrange.transfers.records import InputForm, Record, RecordReader

_LOGGER = logging.getLogger("hashrange.imports")

_BAD_ITEMS: Final = [
    "ItemValidationError",
    "Some of the items failed validation checks and were not imported. Please check CloudWatch "
    "error logs for more details.",
]


@final
class Imports:
    """The kind of job that imports."""

    def __init__(
        self, engine: Engine, catalog: Catalog, objects: ObjectStore, blocking: Blocking
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._objects = objects
        self._blocking = blocking

    def _load(self, job: Job) -> BulkLoad:
        return BulkLoad(self._engine, self._catalog, _record_of(job))

    async def run(self, job: Job) -> str:
        """Load what is not loaded yet, and let the table be used."""
        load = self._load(job)
        try:
            if not job.record.progress.get("is_loaded"):
                await load.begin()
                await self._load_all(job, load)
            await load.finish()
        except ResourceInUseException as error:
            raise JobFailedError("TableAlreadyExists", error.message) from error
        except ResourceNotFoundException as error:
            raise JobFailedError("TableNotFound", error.message) from error
        if job.record.progress.get("errors"):
            return FAILED
        return COMPLETED

    async def undo(self, job: Job) -> None:
        """Drop the table, unless it is complete."""
        await self._load(job).abandon()

    async def _load_all(self, job: Job, load: BulkLoad) -> None:
        table = await load.table()
        parameters = job.record.request["parameters"]
        source = parameters["S3BucketSource"]
        bucket = source["S3Bucket"]
        await check_bucket(self._objects, bucket, source.get("S3BucketOwner"))
        making = job.pace.pieces()
        reader = RecordReader(self._objects, _form_of(parameters, table), self._blocking, making)
        inputs = InputObjects(self._objects, bucket, source.get("S3KeyPrefix", ""), reader)
        if not job.record.progress and (await inputs.measure())[0] == 0:
            raise JobFailedError(
                "S3NoSuchKey", "There is no object with the given prefix in the bucket"
            )
        progress = dict(job.record.progress)
        loading = _Loading(job, load, progress)
        async for batch in inputs.batches(progress):
            entries, errors = _entries(table, batch)
            await making.rest(len(batch.records))
            await loading.add(entries)
            # Only now, as progress that is kept before must not count this batch.
            progress["processed"] = progress.get("processed", 0) + len(batch.records)
            progress["imported"] = progress.get("imported", 0) + len(entries)
            for position, message in errors:
                _report(job, progress, (bucket, batch, position), message)
        await loading.flush()
        progress["is_loaded"] = True
        if progress.get("errors"):
            progress["failure"] = _BAD_ITEMS
        await job.save(progress)


def _entries(table: Table, batch: Batch) -> tuple[list[Entry], list[tuple[int, str]]]:
    """Return the items of a batch to load, and what is wrong with the others."""
    entries: list[Entry] = []
    errors: list[tuple[int, str]] = []
    for position, record in enumerate(batch.records):
        try:
            entries.append(make_entry(table, record))
        except ClientError as error:
            errors.append((position, error.message))
    return entries, errors


@final
class _Loading:
    """Loads entries in groups."""

    def __init__(self, job: Job, load: BulkLoad, progress: dict[str, Any]) -> None:
        self._job = job
        self._load = load
        self._progress = progress
        self._pieces = job.pace.pieces()
        self._entries: list[Entry] = []
        self._unsaved = 0

    async def add(self, entries: Sequence[Entry]) -> None:
        """Load entries, sooner or later; keep the progress now and then.

        The progress must not count these entries as done yet.
        """
        if self._unsaved >= IMPORT_SAVE_RECORDS:
            await self.flush()
            await self._job.save(dict(self._progress))
            self._unsaved = 0
        self._entries.extend(entries)
        self._unsaved += len(entries)
        if len(self._entries) >= self._pieces.rows(IMPORT_LOAD_RECORDS):
            await self.flush()

    async def flush(self) -> None:
        """Load what is left."""
        entries, self._entries = self._entries, []
        first = 0
        while first < len(entries):
            group = entries[first : first + self._pieces.rows(IMPORT_LOAD_RECORDS)]
            await self._load.load(group)
            first += len(group)
            await self._pieces.rest(len(group))


def make_entry(table: Table, record: Record) -> Entry:
    """Return key and row of a record's item; raises ClientError if the table cannot hold it."""
    if record.error:
        raise ClientError(record.error)
    item = record.item
    size = check_put(item, BARE)
    key = put_key(table, item)
    if table.indexes:
        check_index_keys(table, item)
    return key, pack_item(item, size)


def _record_of(job: Job) -> TableRecord:
    return unpack_record(orjson.dumps(job.record.request["record"]))


def _form_of(parameters: dict[str, Any], table: Table) -> InputForm:
    form, compression = parameters["InputFormat"], parameters.get("InputCompressionType", "NONE")
    if form != "CSV":
        return InputForm(form, compression)
    options = parameters.get("InputFormatOptions", {}).get("Csv", {})
    return InputForm(
        form,
        compression,
        partial(
            CsvItems, table.key_types, options.get("Delimiter", ","), options.get("HeaderList")
        ),
    )


def _report(
    job: Job, progress: dict[str, Any], where: tuple[str, Batch, int], message: str
) -> None:
    """Count a bad record, and log the first ones as AWS does."""
    errors = progress["errors"] = progress.get("errors", 0) + 1
    bucket, batch, position = where
    if errors <= IMPORT_ERRORS_KEPT_MAX:
        report = {
            "itemS3Pointer": {
                "bucket": bucket,
                "key": batch.key,
                "itemIndex": batch.first + position,
            },
            "importArn": job.record.arn,
            "errorMessages": [message],
        }
        _LOGGER.error("%s", orjson.dumps(report).decode())
