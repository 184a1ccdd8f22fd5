"""What failures of the object store mean for a job: an end with AWS's code, or another attempt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hashrange.objects.base import ObjectStore, ObjectStoreError
from hashrange.services.jobs import JobFailedError

_CODES: Final = {
    "NoSuchBucket": "S3NoSuchBucket",
    "NoSuchKey": "S3NoSuchKey",
    "InvalidBucketName": "S3NoSuchBucket",
    "AccessDenied": "S3AccessDenied",
    "AllAccessDisabled": "S3AccessDenied",
    "InvalidAccessKeyId": "S3AccessDenied",
    "SignatureDoesNotMatch": "S3AccessDenied",
    "InvalidRequest": "S3InvalidRequest",
    "KeyTooLongError": "S3InvalidRequest",
    "InvalidObjectState": "S3InvalidObjectState",
}


@contextmanager
def object_failures() -> Iterator[None]:
    """Turn failures of the object store into failures of the job; others may pass by."""
    try:
        yield
    except ObjectStoreError as error:
        if error.code in _CODES:
            raise JobFailedError(_CODES[error.code], error.message) from error
        raise OSError(f"{error.code}: {error.message}") from error


async def check_bucket(objects: ObjectStore, bucket: str, owner: str | None) -> None:
    """Fail unless a bucket is there and, where both are known, has the expected owner."""
    with object_failures():
        entry = await objects.bucket(bucket)
    if owner is not None and entry.owner and entry.owner != owner:
        raise JobFailedError("S3AccessDenied", "Access Denied")
