"""S3's operations for uploads in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from hashrange.neighbours.s3.answers import (
    check_content,
    date,
    kept_headers,
    own_bucket,
    quoted,
    refuse_encryption,
    store_errors,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope
from hashrange.objects.folder import FolderStore
from hashrange.objects.multipart import MultipartUploads


@final
class Uploads:
    """The operations for uploads in parts."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store
        self._uploads = MultipartUploads(store)

    def operations(self) -> Mapping[str, Handler]:
        """Return the operations by name."""
        return {
            "AbortMultipartUpload": self.abort,
            "CompleteMultipartUpload": self.complete,
            "CreateMultipartUpload": self.create,
            "ListParts": self.list_parts,
            "UploadPart": self.upload_part,
        }

    async def create(self, scope: Scope, parameters: Parameters) -> Result:
        """Begin an upload."""
        bucket, key = parameters["Bucket"], parameters["Key"]
        refuse_encryption(parameters)
        await own_bucket(self._store, scope, bucket)
        with store_errors():
            id = await self._uploads.begin(
                bucket,
                key,
                parameters.get("ContentType", "binary/octet-stream"),
                kept_headers(parameters),
            )
        return {"Bucket": bucket, "Key": key, "UploadId": id}

    async def upload_part(self, scope: Scope, parameters: Parameters) -> Result:
        """Keep a part."""
        content = parameters.get("Body", b"")
        check_content(parameters, content)
        await own_bucket(self._store, scope, parameters["Bucket"])
        with store_errors():
            etag = await self._uploads.put_part(
                *_where(parameters), parameters["PartNumber"], content
            )
        return {"ETag": quoted(etag)}

    async def list_parts(self, scope: Scope, parameters: Parameters) -> Result:
        """List the parts that were received."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        with store_errors():
            parts = await self._uploads.parts(*_where(parameters))
        return {
            "Bucket": parameters["Bucket"],
            "Key": parameters["Key"],
            "UploadId": parameters["UploadId"],
            "IsTruncated": False,
            "Parts": [
                {
                    "PartNumber": part.number,
                    "ETag": quoted(part.etag),
                    "Size": part.size,
                    "LastModified": date(part.modified_at),
                }
                for part in parts
            ],
        }

    async def complete(self, scope: Scope, parameters: Parameters) -> Result:
        """Join the parts."""
        bucket, key = parameters["Bucket"], parameters["Key"]
        await own_bucket(self._store, scope, bucket)
        chosen = [
            (part["PartNumber"], part["ETag"].strip('"'))
            for part in parameters.get("MultipartUpload", {}).get("Parts", ())
        ]
        with store_errors():
            entry = await self._uploads.complete(*_where(parameters), chosen)
        return {
            "Location": f"/{bucket}/{key}",
            "Bucket": bucket,
            "Key": key,
            "ETag": quoted(entry.etag),
        }

    async def abort(self, scope: Scope, parameters: Parameters) -> Result:
        """Forget an upload."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        with store_errors():
            await self._uploads.abort(*_where(parameters))
        return {}


def _where(parameters: Parameters) -> tuple[str, str, str]:
    return parameters["Bucket"], parameters["Key"], parameters["UploadId"]
