"""S3's operations on buckets: making, finding and deleting them, and listing their objects."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, final
from urllib.parse import quote

from hashrange.neighbours.s3.answers import date, own_bucket, quoted, store_errors
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.objects.base import ObjectPage
from hashrange.objects.folder import FolderStore

_KEYS_MAX: Final = 1000
_DEFAULT_REGION: Final = "us-east-1"


@final
class Buckets:
    """The operations on buckets."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store

    def operations(self) -> Mapping[str, Handler]:
        """Return the operations by name."""
        return {
            "CreateBucket": self.create_bucket,
            "DeleteBucket": self.delete_bucket,
            "GetBucketLocation": self.get_bucket_location,
            "HeadBucket": self.head_bucket,
            "ListBuckets": self.list_buckets,
            "ListObjects": self.list_objects,
            "ListObjectsV2": self.list_objects_v2,
        }

    async def create_bucket(self, scope: Scope, parameters: Parameters) -> Result:
        """Make a bucket of the caller's account."""
        name = parameters["Bucket"]
        with store_errors():
            is_new = await self._store.create_bucket(name, scope.account)
        if not is_new:
            await self._refuse_other(scope, name)
            if scope.region != _DEFAULT_REGION:
                raise ServiceError(
                    "BucketAlreadyOwnedByYou",
                    "Your previous request to create the named bucket succeeded and you already "
                    "own it.",
                    status=409,
                )
        return {"Location": f"/{name}"}

    async def _refuse_other(self, scope: Scope, name: str) -> None:
        entry = await self._store.bucket(name)
        if entry.owner and entry.owner != scope.account:
            raise ServiceError(
                "BucketAlreadyExists",
                "The requested bucket name is not available. The bucket namespace is shared by all "
                "users of the system. Please select a different name and try again.",
                status=409,
            )

    async def delete_bucket(self, scope: Scope, parameters: Parameters) -> Result:
        """Delete an empty bucket."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        with store_errors():
            await self._store.delete_bucket(parameters["Bucket"])
        return {}

    async def head_bucket(self, scope: Scope, parameters: Parameters) -> Result:
        """Tell whether a bucket is there."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        return {"BucketRegion": scope.region}

    async def get_bucket_location(self, scope: Scope, parameters: Parameters) -> Result:
        """Tell the region of a bucket: buckets are in every region here."""
        await own_bucket(self._store, scope, parameters["Bucket"])
        return {"LocationConstraint": ""}

    async def list_buckets(self, scope: Scope, parameters: Parameters) -> Result:
        """List the buckets of the caller's account, and those of nobody."""
        with store_errors():
            entries = await self._store.buckets()
        prefix = parameters.get("Prefix", "")
        return {
            "Buckets": [
                {"Name": entry.name, "CreationDate": date(entry.created_at)}
                for entry in entries
                if entry.owner in ("", scope.account) and entry.name.startswith(prefix)
            ],
            "Owner": {"ID": scope.account, "DisplayName": scope.account},
        }

    async def list_objects_v2(self, scope: Scope, parameters: Parameters) -> Result:
        """List objects, page by page."""
        after = parameters.get("StartAfter", "")
        token = parameters.get("ContinuationToken")
        if token is not None:
            after = _position(token)
        page = await self._page(scope, parameters, after)
        found = _listing(parameters, page)
        found["KeyCount"] = len(page.objects) + len(page.prefixes)
        if token is not None:
            found["ContinuationToken"] = token
        if "StartAfter" in parameters:
            found["StartAfter"] = _shown(parameters, parameters["StartAfter"])
        if page.is_truncated:
            found["NextContinuationToken"] = base64.urlsafe_b64encode(page.last.encode()).decode()
        return found

    async def list_objects(self, scope: Scope, parameters: Parameters) -> Result:
        """List objects, page by page, in the older form."""
        marker = parameters.get("Marker", "")
        page = await self._page(scope, parameters, marker)
        found = _listing(parameters, page) | {"Marker": _shown(parameters, marker)}
        if page.is_truncated:
            found["NextMarker"] = _shown(parameters, page.last)
        return found

    async def _page(self, scope: Scope, parameters: Parameters, after: str) -> ObjectPage:
        bucket = parameters["Bucket"]
        await own_bucket(self._store, scope, bucket)
        keys_max = min(parameters.get("MaxKeys", _KEYS_MAX), _KEYS_MAX)
        if keys_max <= 0:
            return ObjectPage([], [], "", is_truncated=False)
        with store_errors():
            return await self._store.page(
                bucket,
                parameters.get("Prefix", ""),
                after=after,
                keys_max=keys_max,
                delimiter=parameters.get("Delimiter", ""),
            )


def _listing(parameters: Parameters, page: ObjectPage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "Name": parameters["Bucket"],
        "Prefix": _shown(parameters, parameters.get("Prefix", "")),
        "MaxKeys": min(parameters.get("MaxKeys", _KEYS_MAX), _KEYS_MAX),
        "IsTruncated": page.is_truncated,
        "Contents": [
            {
                "Key": _shown(parameters, entry.key),
                "LastModified": date(entry.modified_at),
                "ETag": quoted(entry.etag),
                "Size": entry.size,
                "StorageClass": "STANDARD",
            }
            for entry in page.objects
        ],
        "CommonPrefixes": [{"Prefix": _shown(parameters, prefix)} for prefix in page.prefixes],
    }
    for name in ("Delimiter", "EncodingType"):
        if name in parameters:
            found[name] = parameters[name]
    return found


def _shown(parameters: Parameters, text: str) -> str:
    return quote(text, safe="/") if parameters.get("EncodingType") == "url" else text


def _position(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except ValueError as error:
        raise ServiceError(
            "InvalidArgument", "The continuation token provided is incorrect"
        ) from error
