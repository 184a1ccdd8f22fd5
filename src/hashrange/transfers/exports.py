"""Exports: the job that writes a table, or its changes, as files and manifests into a bucket.

    PREFIX/AWSDynamoDB/ID/_started
    PREFIX/AWSDynamoDB/ID/data/NAME.json.gz       (incremental exports: PREFIX/AWSDynamoDB/data)
    PREFIX/AWSDynamoDB/ID/manifest-files.json     a line per data file
    PREFIX/AWSDynamoDB/ID/manifest-summary.json   written last, so an export with one is complete
    PREFIX/AWSDynamoDB/ID/manifest-*.checksum     MD5 in Base64

Progress is kept after each data file. The names of files follow from the export, so a file that a
killed process left behind is written again.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import Any, Final, final

import orjson

from hashrange.api.transfers.filters import read_filter
from hashrange.engine.base import Engine
from hashrange.limits import EXPORT_FILE_BYTES
from hashrange.model.jobs import COMPLETED, JobRecord
from hashrange.model.records import TableRecord, make_table
from hashrange.objects.base import ObjectStore, put_object
from hashrange.services.jobs import Job, JobFailedError
from hashrange.storage.catalog import Catalog, split_table_arn
from hashrange.storage.past import settle
from hashrange.transfers.data_files import Blocking, begin_file
from hashrange.transfers.export_sources import ChangeSource, ExportSource, FullSource
from hashrange.transfers.object_failures import check_bucket, object_failures

_NAME_CHARACTERS: Final = 26


@final
class Exports:
    """The kind of job that exports."""

    def __init__(
        self, engine: Engine, catalog: Catalog, objects: ObjectStore, blocking: Blocking
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._objects = objects
        self._blocking = blocking

    async def run(self, job: Job) -> str:
        """Write what is not written yet."""
        progress = dict(job.record.progress) or await self._begin(job)
        shards = (await self._find_table(job.record)).shards
        while progress["shard"] < shards:
            source = await self._source(job.record)
            with object_failures():
                await self._write_file(job, source, progress)
            await job.save(progress)
        with object_failures():
            progress["manifest"] = await self._write_manifests(job, progress)
        await job.save(progress)
        return COMPLETED

    async def undo(self, job: Job) -> None:
        """Do nothing: files without a manifest are no export."""

    async def _begin(self, job: Job) -> dict[str, Any]:
        parameters = job.record.request["parameters"]
        bucket = parameters["S3Bucket"]
        await check_bucket(self._objects, bucket, parameters.get("S3BucketOwner"))
        with object_failures():
            await put_object(self._objects, bucket, _folder(job.record) + "_started", b"")
        # Writes that are under way may be older than the time of the export.
        await settle(self._catalog, await self._find_table(job.record))
        return {"shard": 0, "after": "", "files": [], "items": 0, "billed_bytes": 0}

    async def _find_table(self, job: JobRecord) -> TableRecord:
        parts = split_table_arn(job.request["table_arn"])
        assert parts is not None
        record = await self._catalog.find(*parts)
        if record is None or record.id != job.request["table_id"] or record.gone_at is not None:
            raise JobFailedError("TableNotFound", "The table was deleted during the export")
        return record

    async def _source(self, job: JobRecord) -> ExportSource:
        record = await self._find_table(job)
        recovery = record.recovery
        request = job.request
        if recovery is None or recovery.enabled_at is None:
            raise _no_history()
        begin: float = request["at"] if "at" in request else request["from"]
        if recovery.enabled_at > begin:
            raise _no_history()
        table = make_table(record)
        parameters = request["parameters"]
        form = (
            parameters.get("ExportFormat") == "ION",
            read_filter(table, parameters.get("FilterSpecification")),
        )
        if "at" in request:
            return FullSource(self._engine, table, recovery.store, request["at"], form)
        period = (request["from"], request["to"], request["view"])
        return ChangeSource(self._engine, table, recovery.store, period, form)

    async def _write_file(self, job: Job, source: ExportSource, progress: dict[str, Any]) -> None:
        """Write one data file, and move the progress behind it."""
        record = job.record
        shard, after = progress["shard"], bytes.fromhex(progress["after"])
        key = _data_folder(record) + _file_name(record, len(progress["files"]))
        bucket = record.request["parameters"]["S3Bucket"]
        file = await begin_file(self._objects, bucket, key, self._blocking)
        items = billed = size = 0
        ended = False
        reading = job.pace.pieces()
        try:
            while not ended and size < EXPORT_FILE_BYTES:
                page = await source.page(shard, after, reading.rows(source.rows_max))
                if page.lines:
                    await job.pace.apart(file.write(page.lines))
                items, billed, size = (
                    items + page.items,
                    billed + page.billed_bytes,
                    size + len(page.lines),
                )
                after, ended = page.last, page.has_ended
                await reading.rest(page.rows)
            md5, etag = await job.pace.apart(file.complete())
        except BaseException:
            await file.abort()
            raise
        progress["files"] = [*progress["files"], [items, md5, etag, key]]
        progress["items"] += items
        progress["billed_bytes"] += billed
        progress["shard"], progress["after"] = (shard + 1, "") if ended else (shard, after.hex())

    async def _write_manifests(self, job: Job, progress: dict[str, Any]) -> str:
        record, now = job.record, job.clock.now()
        folder = _folder(record)
        files = b"".join(
            orjson.dumps(
                {"itemCount": items, "md5Checksum": md5, "etag": etag, "dataFileS3Key": key}
            )
            + b"\n"
            for items, md5, etag, key in progress["files"]
        )
        await self._write_checked(record, folder + "manifest-files", files)
        summary = orjson.dumps(_summary(record, progress, now))
        await self._write_checked(record, folder + "manifest-summary", summary)
        return folder + "manifest-summary.json"

    async def _write_checked(self, job: JobRecord, name: str, content: bytes) -> None:
        bucket = job.request["parameters"]["S3Bucket"]
        digest = hashlib.md5(content, usedforsecurity=False).digest()
        await put_object(self._objects, bucket, f"{name}.checksum", base64.b64encode(digest))
        await put_object(self._objects, bucket, f"{name}.json", content)


def _no_history() -> JobFailedError:
    return JobFailedError(
        "PointInTimeRecoveryUnavailable",
        "Point in time recovery was turned off during the export",
    )


def _root(job: JobRecord) -> str:
    prefix = job.request["parameters"].get("S3Prefix", "")
    return f"{prefix}/AWSDynamoDB/" if prefix else "AWSDynamoDB/"


def _folder(job: JobRecord) -> str:
    return f"{_root(job)}{job.id}/"


def _data_folder(job: JobRecord) -> str:
    return (_folder(job) if "at" in job.request else _root(job)) + "data/"


def _file_name(job: JobRecord, number: int) -> str:
    digest = hashlib.sha256(f"{job.arn} {number}".encode()).digest()
    name = base64.b32encode(digest).decode().lower()[:_NAME_CHARACTERS]
    form = "ion" if job.request["parameters"].get("ExportFormat") == "ION" else "json"
    return f"{name}.{form}.gz"


def _summary(job: JobRecord, progress: dict[str, Any], now: float) -> dict[str, Any]:
    request, parameters = job.request, job.request["parameters"]
    is_full = "at" in request
    summary: dict[str, Any] = {
        "version": "2020-06-30" if is_full else "2023-08-01",
        "exportArn": job.arn,
        "startTime": _date(job.created_at),
        "endTime": _date(now),
        "tableArn": request["table_arn"],
        "tableId": request["table_id"],
    }
    if is_full:
        summary["exportTime"] = _date(request["at"])
    else:
        summary["exportFromTime"] = _date(request["from"])
        summary["exportToTime"] = _date(request["to"])
    return summary | {
        "s3Bucket": parameters["S3Bucket"],
        "s3Prefix": parameters.get("S3Prefix"),
        "s3SseAlgorithm": parameters.get("S3SseAlgorithm", "AES256"),
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": _folder(job) + "manifest-files.json",
        "billedSizeBytes": progress["billed_bytes"],
        "itemCount": progress["items"],
        "outputFormat": parameters.get("ExportFormat", "DYNAMODB_JSON"),
        **({} if is_full else {"outputView": request["view"], "exportType": "INCREMENTAL_EXPORT"}),
    }


def _date(seconds: float) -> str:
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
