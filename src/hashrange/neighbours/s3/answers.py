"""What the operations of S3 share: owners, errors, checksums and the headers of objects."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from hashrange.neighbours.service import Parameters, Scope, ServiceError
from hashrange.objects.base import BucketEntry, ObjectEntry, ObjectStoreError
from hashrange.objects.folder import FolderStore
from hashrange.quick_zlib import crc32

_STATUSES: Final = {
    "AccessDenied": 403,
    "BucketNotEmpty": 409,
    "InternalError": 500,
    "InvalidObjectState": 403,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
}
# Members of requests that belong to the object, and the headers that they come back in.
_KEPT: Final = {
    "CacheControl": "cache-control",
    "ContentDisposition": "content-disposition",
    "ContentEncoding": "content-encoding",
    "ContentLanguage": "content-language",
}
_META: Final = "x-amz-meta-"
_CHUNKED: Final = "aws-chunked"


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn errors of the store into those of S3."""
    try:
        yield
    except ObjectStoreError as error:
        status = _STATUSES.get(error.code, 400)
        raise ServiceError(error.code, error.message, status=status) from error


async def own_bucket(store: FolderStore, scope: Scope, name: str) -> BucketEntry:
    """Return a bucket that belongs to the caller's account, or to nobody."""
    with store_errors():
        entry = await store.bucket(name)
    if entry.owner and entry.owner != scope.account:
        raise ServiceError("AccessDenied", "Access Denied", status=403)
    return entry


def date(seconds: float) -> datetime:
    """Return a time in the precision of S3."""
    return datetime.fromtimestamp(int(seconds), UTC)


def quoted(etag: str) -> str:
    """Return an ETag as it is sent."""
    return f'"{etag}"'


def kept_headers(parameters: Parameters) -> dict[str, str]:
    """Return the headers of a request that belong to the object."""
    headers = {
        header: parameters[member] for member, header in _KEPT.items() if member in parameters
    }
    coding = headers.pop("content-encoding", "")
    codings = [part for part in coding.split(",") if part.strip() not in ("", _CHUNKED)]
    if codings:
        headers["content-encoding"] = ",".join(codings).strip()
    for name, value in parameters.get("Metadata", {}).items():
        headers[_META + name.lower()] = value
    return headers


def described(entry: ObjectEntry) -> dict[str, Any]:
    """Return the headers of GetObject and HeadObject that describe an object."""
    found: dict[str, Any] = {
        "AcceptRanges": "bytes",
        "ContentType": entry.content_type,
        "ETag": quoted(entry.etag),
        "LastModified": date(entry.modified_at),
        "Metadata": {
            name.removeprefix(_META): value
            for name, value in entry.headers.items()
            if name.startswith(_META)
        },
    }
    for member, header in _KEPT.items():
        if header in entry.headers:
            found[member] = entry.headers[header]
    return found


def check_content(parameters: Parameters, content: bytes) -> None:
    """Refuse content that is not what its checksums say; CRC32C and CRC64 are not looked at."""
    digest = parameters.get("ContentMD5")
    if digest is not None and digest != _text(hashlib.md5(content, usedforsecurity=False).digest()):
        raise ServiceError(
            "BadDigest", "The Content-MD5 you specified did not match what we received."
        )
    for member, compute in _CHECKSUMS.items():
        if member in parameters and parameters[member] != _text(compute(content)):
            name = member.removeprefix("Checksum")
            raise ServiceError(
                "BadDigest", f"The {name} you specified did not match the calculated checksum."
            )


def _crc32(content: bytes) -> bytes:
    return crc32(content).to_bytes(4, "big")


def _sha1(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).digest()


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


_CHECKSUMS: Final = {"ChecksumCRC32": _crc32, "ChecksumSHA1": _sha1, "ChecksumSHA256": _sha256}


def _text(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def refuse_encryption(parameters: Parameters) -> None:
    """Refuse what would have no effect: keys for encryption."""
    if parameters.get("ServerSideEncryption", "AES256") != "AES256" or any(
        name.startswith("SSECustomer") for name in parameters
    ):
        raise ServiceError("NotImplemented", "Encryption keys are not supported here.", status=501)
