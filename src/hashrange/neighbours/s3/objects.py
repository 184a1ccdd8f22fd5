"""S3's operations on objects."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Final, final
from urllib.parse import unquote

from hashrange.neighbours.s3.answers import (
    check_content,
    date,
    described,
    kept_headers,
    own_bucket,
    quoted,
    refuse_encryption,
    store_errors,
)
from hashrange.neighbours.service import (
    BodyStream,
    Handler,
    Parameters,
    Result,
    Scope,
    ServiceError,
)
from hashrange.objects.base import NoSuchKeyError, ObjectEntry
from hashrange.objects.folder import FolderStore

_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")


@final
class Objects:
    """The operations on objects."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store

    def operations(self) -> Mapping[str, Handler]:
        """Return the operations by name."""
        return {
            "CopyObject": self.copy_object,
            "DeleteObject": self.delete_object,
            "DeleteObjects": self.delete_objects,
            "GetObject": self.get_object,
            "HeadObject": self.head_object,
            "PutObject": self.put_object,
        }

    async def put_object(self, scope: Scope, parameters: Parameters) -> Result:
        """Write an object as a whole."""
        bucket, key = parameters["Bucket"], parameters["Key"]
        content = parameters.get("Body", b"")
        check_content(parameters, content)
        refuse_encryption(parameters)
        await own_bucket(self._store, scope, bucket)
        if parameters.get("IfNoneMatch") == "*" and await self._find(bucket, key) is not None:
            raise _precondition_failed()
        with store_errors():
            upload = await self._store.begin(
                bucket,
                key,
                content_type=parameters.get("ContentType", ""),
                headers=kept_headers(parameters),
            )
            try:
                if content:
                    await upload.write(content)
                entry = await upload.complete()
            finally:
                await upload.abort()
        return {"ETag": quoted(entry.etag)}

    async def get_object(self, scope: Scope, parameters: Parameters) -> Result:
        """Return an object, or a range of it, piece by piece."""
        entry = await self._head(scope, parameters)
        found = described(entry)
        start, end = 0, entry.size
        if "Range" in parameters:
            bounds = _range(parameters["Range"], entry.size)
            if bounds is not None:
                start, end = bounds
                found["ContentRange"] = f"bytes {start}-{end - 1}/{entry.size}"
        chunks = self._store.read(parameters["Bucket"], entry.key, start=start, end=end)
        with store_errors():
            chunks = await _begun(chunks)
        status = 206 if "ContentRange" in found else 200
        return found | {"Body": BodyStream(chunks, end - start, status)}

    async def head_object(self, scope: Scope, parameters: Parameters) -> Result:
        """Describe an object."""
        entry = await self._head(scope, parameters)
        return described(entry) | {"ContentLength": entry.size}

    async def _head(self, scope: Scope, parameters: Parameters) -> ObjectEntry:
        bucket, key = parameters["Bucket"], parameters["Key"]
        await own_bucket(self._store, scope, bucket)
        with store_errors():
            entry = await self._store.head(bucket, key)
        wanted, other = parameters.get("IfMatch"), parameters.get("IfNoneMatch")
        if wanted is not None and wanted.strip('"') not in (entry.etag, "*"):
            raise _precondition_failed()
        if other is not None and other.strip('"') in (entry.etag, "*"):
            raise ServiceError("NotModified", "Not Modified", status=304)
        return entry

    async def _find(self, bucket: str, key: str) -> ObjectEntry | None:
        with store_errors():
            try:
                return await self._store.head(bucket, key)
            except NoSuchKeyError:
                return None

    async def delete_object(self, scope: Scope, parameters: Parameters) -> Result:
        """Delete an object; one that is not there counts as deleted."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        with store_errors():
            await self._store.delete(parameters["Bucket"], parameters["Key"])
        return {}

    async def delete_objects(self, scope: Scope, parameters: Parameters) -> Result:
        """Delete many objects."""
        bucket, request = parameters["Bucket"], parameters["Delete"]
        await own_bucket(self._store, scope, bucket)
        keys = [found["Key"] for found in request["Objects"]]
        with store_errors():
            for key in keys:
                await self._store.delete(bucket, key)
        return {} if request.get("Quiet") else {"Deleted": [{"Key": key} for key in keys]}

    async def copy_object(self, scope: Scope, parameters: Parameters) -> Result:
        """Write an object with the content of another."""
        source = unquote(parameters["CopySource"].partition("?")[0]).lstrip("/")
        source_bucket, _, source_key = source.partition("/")
        bucket, key = parameters["Bucket"], parameters["Key"]
        refuse_encryption(parameters)
        await own_bucket(self._store, scope, source_bucket)
        await own_bucket(self._store, scope, bucket)
        with store_errors():
            entry = await self._store.head(source_bucket, source_key)
            is_replaced = parameters.get("MetadataDirective") == "REPLACE"
            upload = await self._store.begin(
                bucket,
                key,
                content_type=(
                    parameters.get("ContentType", "") if is_replaced else entry.content_type
                ),
                headers=kept_headers(parameters) if is_replaced else entry.headers,
            )
            try:
                async for chunk in self._store.read(source_bucket, source_key):
                    await upload.write(chunk)
                copied = await upload.complete()
            finally:
                await upload.abort()
        return {
            "CopyObjectResult": {
                "ETag": quoted(copied.etag),
                "LastModified": date(copied.modified_at),
            }
        }


async def _begun(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Return the same chunks when the first is there: what fails until then is answered."""
    first = await anext(chunks, b"")

    async def resumed() -> AsyncIterator[bytes]:
        if first:
            yield first
        async for chunk in chunks:
            yield chunk

    return resumed()


def _range(text: str, size: int) -> tuple[int, int] | None:
    """Return the first position and the one behind the last; None for a range to be ignored."""
    match = _RANGE.fullmatch(text.strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first:
        start, end = int(first), min(size, int(last) + 1) if last else size
    else:
        start, end = max(0, size - int(last)), size
    if start >= end:
        raise ServiceError("InvalidRange", "The requested range is not satisfiable", status=416)
    return start, end


def _precondition_failed() -> ServiceError:
    return ServiceError(
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold",
        status=412,
    )
