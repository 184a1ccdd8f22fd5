"""Rows of the authorisation table for S3."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from hashrange.api.access.demands import ANY, Demand, Row
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope


def _bucket_row(action: str) -> Row:
    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [Demand(action, f"arn:aws:s3:::{request['Bucket']}")]

    return demands


def _object_row(action: str) -> Row:
    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [Demand(action, f"arn:aws:s3:::{request['Bucket']}/{request['Key']}")]

    return demands


def _list_buckets_row(scope: RequestScope, request: Request) -> list[Demand]:
    return [Demand("s3:ListAllMyBuckets", ANY)]


def _delete_objects_row(scope: RequestScope, request: Request) -> list[Demand]:
    bucket = request["Bucket"]
    return [
        Demand("s3:DeleteObject", f"arn:aws:s3:::{bucket}/{found['Key']}")
        for found in request["Delete"]["Objects"]
    ]


def _copy_row(scope: RequestScope, request: Request) -> list[Demand]:
    source = unquote(request["CopySource"].partition("?")[0]).lstrip("/")
    return [
        Demand("s3:GetObject", f"arn:aws:s3:::{source}"),
        Demand("s3:PutObject", f"arn:aws:s3:::{request['Bucket']}/{request['Key']}"),
    ]


S3_ROWS: Final[dict[str, Row]] = {
    "AbortMultipartUpload": _object_row("s3:AbortMultipartUpload"),
    "CompleteMultipartUpload": _object_row("s3:PutObject"),
    "CopyObject": _copy_row,
    "CreateBucket": _bucket_row("s3:CreateBucket"),
    "CreateMultipartUpload": _object_row("s3:PutObject"),
    "DeleteBucket": _bucket_row("s3:DeleteBucket"),
    "DeleteObject": _object_row("s3:DeleteObject"),
    "DeleteObjects": _delete_objects_row,
    "GetBucketLocation": _bucket_row("s3:GetBucketLocation"),
    "GetObject": _object_row("s3:GetObject"),
    "HeadBucket": _bucket_row("s3:ListBucket"),
    "HeadObject": _object_row("s3:GetObject"),
    "ListBuckets": _list_buckets_row,
    "ListMultipartUploads": _bucket_row("s3:ListBucketMultipartUploads"),
    "ListObjects": _bucket_row("s3:ListBucket"),
    "ListObjectsV2": _bucket_row("s3:ListBucket"),
    "ListParts": _object_row("s3:ListMultipartUploadParts"),
    "PutObject": _object_row("s3:PutObject"),
    "UploadPart": _object_row("s3:PutObject"),
}
