"""Bulk puts: the job that puts the items of objects into an existing table.

Items go the way of PutItem: indexes, streams, time to live and conditions work as ever. A record
may have a ConditionExpression with its names and values beside its Item. Bad records and failed
conditions are written to the output bucket:

    PREFIX/AWSDynamoDB/ID/error/NUMBER.json
    PREFIX/AWSDynamoDB/ID/condition-check-failure/NUMBER.json

A job that was killed repeats the records behind its last progress.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final, final

import orjson

from hashrange.api.items.arguments import read_write_arguments
from hashrange.api.items.item_writes import check_put, make_put
from hashrange.engine.base import Engine
from hashrange.errors import (
    ClientError,
    ResourceNotFoundException,
    StaleVersionError,
)
from hashrange.limits import BULK_SAVE_RECORDS
from hashrange.model.jobs import COMPLETED, COMPLETED_WITH_ERRORS, JobRecord
from hashrange.model.schema import Table
from hashrange.model.values import BARE
from hashrange.objects.base import ObjectStore, put_object
from hashrange.services.jobs import Job, JobFailedError
from hashrange.storage.catalog import Catalog
from hashrange.storage.layout import row_size
from hashrange.storage.transactions import write_batch
from hashrange.storage.writes import ItemOutcome, PutWrite
from hashrange.transfers.data_files import Blocking
from hashrange.transfers.input_objects import Batch, InputObjects
from hashrange.transfers.object_failures import check_bucket, object_failures
from hashrange.transfers.records import InputForm, Record, RecordReader

_ERROR: Final = "ERROR"
_FAILURE: Final = "CONDITION_CHECK_FAILURE"
_FOLDERS: Final = {_ERROR: "error", _FAILURE: "condition-check-failure"}
_BESIDE: Final = frozenset(
    ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")
)
_ATTEMPTS_MAX: Final = 100
_PAUSE_SECONDS: Final = 0.01
_HELD_UP_SECONDS: Final = 0.2

_Numbered = tuple[int, Record]


@final
class BulkPuts:
    """The kind of job that puts items of objects."""

    def __init__(
        self, engine: Engine, catalog: Catalog, objects: ObjectStore, blocking: Blocking
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._objects = objects
        self._blocking = blocking

    async def run(self, job: Job) -> str:
        """Put what was not put yet."""
        parameters = job.record.request["parameters"]
        source, output = parameters["InputS3Configuration"], parameters["OutputS3Configuration"]
        form = InputForm(source["InputFormat"], source.get("InputCompressionType", "NONE"))
        pieces = job.pace.pieces()
        reader = RecordReader(self._objects, form, self._blocking, pieces)
        bucket = source["S3Bucket"]
        inputs = InputObjects(self._objects, bucket, source.get("S3KeyPrefix", ""), reader)
        progress = dict(job.record.progress)
        if not progress:
            await check_bucket(self._objects, bucket, source.get("S3BucketOwner"))
            if "S3Bucket" in output:
                owner = output.get("S3BucketOwner")
                await check_bucket(self._objects, output["S3Bucket"], owner)
            _, progress["total_bytes"] = await inputs.measure()
            await job.save(dict(progress))
        run = _Run(job, self._engine, self._catalog, _Report(self._objects, job.record))
        async for batch in inputs.batches(progress):
            if run.unsaved >= BULK_SAVE_RECORDS:
                await run.save(progress)
            await run.put(batch, progress)
            await pieces.rest(len(batch.records))
        await run.save(progress)
        return COMPLETED_WITH_ERRORS if progress.get("errors") else COMPLETED

    async def undo(self, job: Job) -> None:
        """Leave what was put, as AWS does."""


@final
class _Report:
    """Records that were not put, until they are written to the output bucket."""

    def __init__(self, objects: ObjectStore, job: JobRecord) -> None:
        self._objects = objects
        self._output = job.request["parameters"]["OutputS3Configuration"]
        self._bucket = job.request["parameters"]["InputS3Configuration"]["S3Bucket"]
        prefix = self._output.get("S3KeyPrefix", "")
        self._folder = f"{prefix}/AWSDynamoDB/{job.id}" if prefix else f"AWSDynamoDB/{job.id}"
        self._lines: dict[str, list[bytes]] = {}

    def add(self, kind: str, batch: Batch, number: int, record: Record, message: str) -> None:
        """Report a record, if reports of this kind were asked for."""
        if kind not in self._output["OutputType"]:
            return
        line: dict[str, Any] = {
            "itemS3Pointer": {"bucket": self._bucket, "key": batch.key, "itemIndex": number},
            "errorMessages": [message],
        }
        if record.item:
            line["Item"] = record.item
        self._lines.setdefault(kind, []).append(orjson.dumps(line) + b"\n")

    async def write(self, number: int) -> None:
        """Write what was reported since, in files with a number."""
        for kind, lines in self._lines.items():
            key = f"{self._folder}/{_FOLDERS[kind]}/{number:08}.json"
            with object_failures():
                await put_object(self._objects, self._output["S3Bucket"], key, b"".join(lines))
        self._lines.clear()


@final
class _Run:
    """One run of a job."""

    def __init__(self, job: Job, engine: Engine, catalog: Catalog, report: _Report) -> None:
        self._job = job
        self._engine = engine
        self._catalog = catalog
        self._report = report
        self._rate = job.record.request["parameters"].get("MaxWriteRequestUnits")
        self._resting_until = monotonic()
        self.unsaved = 0

    async def save(self, progress: dict[str, Any]) -> None:
        """Keep the progress, and the report up to there."""
        await self._report.write(progress.get("saves", 0))
        progress["saves"] = progress.get("saves", 0) + 1
        await self._job.save(dict(progress))
        self.unsaved = 0

    async def put(self, batch: Batch, progress: dict[str, Any]) -> None:
        """Put the records of a batch, those with one key one after another."""
        numbered = list(enumerate(batch.records, batch.first))
        errors = failures = size = units = 0
        for _ in range(_ATTEMPTS_MAX):
            table = await self._table()
            writes: dict[bytes, tuple[PutWrite, _Numbered]] = {}
            later: list[_Numbered] = []
            for number, record in numbered:
                try:
                    write = _make_write(table, record)
                except ClientError as error:
                    errors += 1
                    self._report.add(_ERROR, batch, number, record, error.message)
                    continue
                if later or write.key in writes:
                    later.append((number, record))
                else:
                    writes[write.key] = (write, (number, record))
            is_held_up = False
            outcomes = await self._write([write for write, _ in writes.values()])
            if outcomes is None:
                numbered = [entry for _, entry in writes.values()] + later
                continue
            for (_, (number, record)), outcome in zip(writes.values(), outcomes, strict=True):
                if isinstance(outcome, ClientError):  # throttled, or locked by a transaction
                    later.append((number, record))
                    is_held_up = True
                elif not outcome.matched:
                    failures += 1
                    text = "The conditional request failed"
                    self._report.add(_FAILURE, batch, number, record, text)
                elif outcome.new is not None:
                    size += row_size(outcome.new)
                    units += outcome.units + sum(outcome.charges.values())
            numbered = later
            if not numbered:
                break
            if is_held_up and self._job.pace.is_patient:
                await asyncio.sleep(_HELD_UP_SECONDS)
        else:
            raise OSError("items stayed locked by transactions, or throttled")
        self.unsaved += len(batch.records)
        _count(progress, len(batch.records), errors, failures, size)
        await self._rest(units)

    async def _write(
        self, writes: Sequence[PutWrite]
    ) -> Sequence[ItemOutcome | ClientError] | None:
        """Carry out writes; None if the table changed meanwhile."""
        if not writes:
            return []
        try:
            return await write_batch(self._engine, writes, self._job.clock.now())
        except StaleVersionError:
            if self._job.pace.is_patient:
                await asyncio.sleep(_PAUSE_SECONDS)
            return None

    async def _table(self) -> Table:
        job = self._job.record
        try:
            table = await self._catalog.table(job.account, job.region, job.request["table_name"])
        except ResourceNotFoundException:
            table = None
        if table is None or table.id != job.request["table_id"]:
            raise JobFailedError("TableNotFound", "The table was deleted")
        return table

    async def _rest(self, units: int) -> None:
        """Rest as long as the allowed rate of write units asks for."""
        if self._rate is None or not self._job.pace.is_patient:
            return
        now = monotonic()
        self._resting_until = max(self._resting_until, now) + units / self._rate
        await asyncio.sleep(self._resting_until - now)


def _make_write(table: Table, record: Record) -> PutWrite:
    if record.error:
        raise ClientError(record.error)
    unknown = record.beside.keys() - _BESIDE
    if unknown:
        raise ClientError(f"The record has unknown members: {', '.join(sorted(unknown))}")
    size = check_put(record.item, BARE)
    condition = None
    if record.beside:
        condition = read_write_arguments(record.beside, kind="put", wording=BARE).condition
    return make_put(table, record.item, size, condition)


def _count(progress: dict[str, Any], records: int, errors: int, failures: int, size: int) -> None:
    progress["processed"] = progress.get("processed", 0) + records
    progress["errors"] = progress.get("errors", 0) + errors
    progress["failures"] = progress.get("failures", 0) + failures
    usage = progress.get("usage") or {"table": {"bytes": 0}, "local": {}, "global": {}}
    usage["table"]["bytes"] += size
    progress["usage"] = usage
