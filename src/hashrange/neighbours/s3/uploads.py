"""S3's operations for uploads in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from hashrange.neighbours.s3.answers import (
    check_content,
    date,
    kept_headers,
    own_bucket,
    quoted,
    refuse_encryption,
    store_errors,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.objects.folder import FolderStore
from hashrange.objects.multipart import MultipartUploads, UploadEntry

_PAGE_MAX: Final = 1000


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
            "ListMultipartUploads": self.list_uploads,
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

    async def list_uploads(self, scope: Scope, parameters: Parameters) -> Result:
        """List the uploads that are neither complete nor aborted."""
        bucket, prefix = parameters["Bucket"], parameters.get("Prefix", "")
        if parameters.get("Delimiter"):
            raise ServiceError("NotImplemented", "Delimiter is not supported here.", status=501)
        await own_bucket(self._store, scope, bucket)
        with store_errors():
            found = await self._uploads.uploads(bucket, prefix)
        after, after_id = parameters.get("KeyMarker", ""), parameters.get("UploadIdMarker", "")
        if after:
            found = _behind(found, after, after_id)
        page = found[: _page_size(parameters.get("MaxUploads"))]
        result: Result = {
            "Bucket": bucket,
            "Prefix": prefix,
            "KeyMarker": after,
            "UploadIdMarker": after_id,
            "MaxUploads": _page_size(parameters.get("MaxUploads")),
            "IsTruncated": len(page) < len(found),
            "Uploads": [
                {
                    "Key": entry.key,
                    "UploadId": entry.id,
                    "Initiated": date(entry.begun_at),
                    "StorageClass": "STANDARD",
                }
                for entry in page
            ],
        }
        if result["IsTruncated"] and page:
            result |= {"NextKeyMarker": page[-1].key, "NextUploadIdMarker": page[-1].id}
        return result

    async def list_parts(self, scope: Scope, parameters: Parameters) -> Result:
        """List the parts that were received."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        with store_errors():
            found = await self._uploads.parts(*_where(parameters))
        after = parameters.get("PartNumberMarker", 0)
        left = [part for part in found if part.number > after]
        parts = left[: _page_size(parameters.get("MaxParts"))]
        return {
            "Bucket": parameters["Bucket"],
            "Key": parameters["Key"],
            "UploadId": parameters["UploadId"],
            "PartNumberMarker": after,
            "NextPartNumberMarker": parts[-1].number if parts else after,
            "MaxParts": _page_size(parameters.get("MaxParts")),
            "IsTruncated": len(parts) < len(left),
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


def _page_size(given: int | None) -> int:
    return _PAGE_MAX if given is None else max(0, min(given, _PAGE_MAX))


def _behind(found: list[UploadEntry], key: str, id: str) -> list[UploadEntry]:
    """Return the uploads behind a key; with an id, behind this upload of the key."""
    places = [entry.id for entry in found if entry.key == key]
    done = set(places[: places.index(id) + 1] if id in places else places)
    mark = key.encode()
    return [entry for entry in found if entry.key.encode() >= mark and entry.id not in done]


def _where(parameters: Parameters) -> tuple[str, str, str]:
    return parameters["Bucket"], parameters["Key"], parameters["UploadId"]
