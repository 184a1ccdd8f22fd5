"""An object store behind an S3 API: AWS, MinIO, Ceph, SeaweedFS and their like, through boto3.

boto3 is an extra and imported with the first use. Its calls block, so they run in threads of this
store. Objects are sent in parts once they are larger than one, so memory holds two parts of an
upload at most; reading holds one chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, final

from hashrange.limits import OBJECT_CHUNK_BYTES, OBJECT_PART_BYTES
from hashrange.objects.base import (
    BucketEntry,
    NoSuchBucketError,
    NoSuchKeyError,
    ObjectEntry,
    ObjectPage,
    ObjectStoreError,
)

_THREADS: Final = 8
_MISSING_KEY: Final = ("NoSuchKey", "404")


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Where the service is, and the credentials: a file in the form of the AWS CLI's.

    Without a file, boto3 looks for credentials where the AWS CLI does.
    """

    endpoint: str
    region: str = "us-east-1"
    credentials: Path | None = None


def make_client(settings: RemoteSettings) -> Any:
    """Return a boto3 client of the service."""
    try:
        import boto3
        import botocore.config
        import botocore.session
    except ImportError as error:
        raise ObjectStoreError(
            "InternalError", "A remote object store needs boto3: pip install boto3"
        ) from error
    session = botocore.session.Session()
    if settings.credentials is not None:
        session.set_config_variable("credentials_file", str(settings.credentials))
        session.set_config_variable("profile", "default")
    return boto3.Session(botocore_session=session).client(
        "s3",
        endpoint_url=settings.endpoint,
        region_name=settings.region,
        config=botocore.config.Config(
            s3={"addressing_style": "path"}, retries={"mode": "standard", "max_attempts": 5}
        ),
    )


@final
class RemoteStore:
    """Buckets of an S3 service."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._client: Any = None
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="hashrange-objects")

    async def call(self, operation: str, **parameters: Any) -> Any:
        """Call the service in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(self._call, operation, parameters))

    def _call(self, operation: str, parameters: dict[str, Any]) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        if self._client is None:
            self._client = self._connect()
        try:
            return getattr(self._client, operation)(**parameters)
        except ClientError as error:
            raise _translated(error, parameters) from error
        except BotoCoreError as error:
            raise ObjectStoreError("ServiceUnavailable", str(error)) from error

    async def buckets(self) -> list[BucketEntry]:
        answer = await self.call("list_buckets")
        return [
            BucketEntry(bucket["Name"], bucket["CreationDate"].timestamp())
            for bucket in answer.get("Buckets", ())
        ]

    async def bucket(self, name: str) -> BucketEntry:
        try:
            await self.call("head_bucket", Bucket=name)
        except NoSuchKeyError:
            raise NoSuchBucketError(name) from None
        return BucketEntry(name, 0.0)

    async def head(self, bucket: str, key: str) -> ObjectEntry:
        answer = await self.call("head_object", Bucket=bucket, Key=key)
        return ObjectEntry(
            key,
            answer["ContentLength"],
            answer["ETag"].strip('"'),
            answer["LastModified"].timestamp(),
            answer.get("ContentType", ""),
        )

    async def page(
        self, bucket: str, prefix: str, *, after: str = "", keys_max: int = 1000
    ) -> ObjectPage:
        answer = await self.call(
            "list_objects_v2", Bucket=bucket, Prefix=prefix, StartAfter=after, MaxKeys=keys_max
        )
        objects = [
            ObjectEntry(
                found["Key"],
                found["Size"],
                found["ETag"].strip('"'),
                found["LastModified"].timestamp(),
            )
            for found in answer.get("Contents", ())
        ]
        last = objects[-1].key if objects else ""
        return ObjectPage(objects, [], last, bool(answer.get("IsTruncated")) and bool(objects))

    async def read(
        self, bucket: str, key: str, *, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        if end is not None and end <= start:
            return
        parameters: dict[str, Any] = {"Bucket": bucket, "Key": key}
        if start or end is not None:
            parameters["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
        body = (await self.call("get_object", **parameters))["Body"]
        loop = asyncio.get_running_loop()
        try:
            while chunk := await loop.run_in_executor(
                self._threads, self._read, body, OBJECT_CHUNK_BYTES
            ):
                yield chunk
        finally:
            body.close()

    def _read(self, body: Any, size: int) -> bytes:
        from botocore.exceptions import BotoCoreError, HTTPClientError

        try:
            chunk: bytes = body.read(size)
        except (BotoCoreError, HTTPClientError) as error:
            raise ObjectStoreError("ServiceUnavailable", str(error)) from error
        return chunk

    async def begin(
        self,
        bucket: str,
        key: str,
        *,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> RemoteUpload:
        parameters: dict[str, Any] = {"Bucket": bucket, "Key": key}
        if content_type:
            parameters["ContentType"] = content_type
        return RemoteUpload(self, parameters)

    async def delete(self, bucket: str, key: str) -> None:
        await self.call("delete_object", Bucket=bucket, Key=key)

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@final
class RemoteUpload:
    """Content on its way: kept until there is a part of it, then sent part by part."""

    def __init__(self, store: RemoteStore, parameters: dict[str, Any]) -> None:
        self._store = store
        self._parameters = parameters
        self._where = {name: parameters[name] for name in ("Bucket", "Key")}
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._size = 0
        self._id = ""
        self._parts: list[dict[str, Any]] = []
        self._is_over = False

    async def write(self, chunk: bytes) -> None:
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)
        self._size += len(chunk)
        if self._waiting_bytes >= OBJECT_PART_BYTES:
            await self._send_part()

    async def _send_part(self) -> None:
        if not self._id:
            answer = await self._store.call("create_multipart_upload", **self._parameters)
            self._id = answer["UploadId"]
        content = b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        number = len(self._parts) + 1
        answer = await self._store.call(
            "upload_part", **self._where, UploadId=self._id, PartNumber=number, Body=content
        )
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})

    async def complete(self) -> ObjectEntry:
        if self._id:
            if self._waiting:
                await self._send_part()
            answer = await self._store.call(
                "complete_multipart_upload",
                **self._where,
                UploadId=self._id,
                MultipartUpload={"Parts": self._parts},
            )
        else:
            answer = await self._store.call(
                "put_object", **self._parameters, Body=b"".join(self._waiting)
            )
        self._is_over = True
        return ObjectEntry(self._where["Key"], self._size, answer["ETag"].strip('"'), 0.0)

    async def abort(self) -> None:
        if self._id and not self._is_over:
            self._is_over = True
            await self._store.call("abort_multipart_upload", **self._where, UploadId=self._id)


def _translated(error: Any, parameters: dict[str, Any]) -> ObjectStoreError:
    failure = error.response.get("Error", {})
    code, message = str(failure.get("Code", "")), str(failure.get("Message", ""))
    if code == "NoSuchBucket":
        return NoSuchBucketError(parameters.get("Bucket", ""))
    if code in _MISSING_KEY:
        return NoSuchKeyError(parameters.get("Key", ""))
    if code == "403":
        return ObjectStoreError("AccessDenied", "Access Denied")
    return ObjectStoreError(code, message)
