"""Signed HTTP requests as bytes, with the headers an AWS SDK sends."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any

REGION = "us-east-1"
_CONTENT_TYPE = "application/x-amz-json-1.0"
_SIGNED_HEADERS = "content-type;host;x-amz-date;x-amz-target"


class Signer:
    """Signs requests to one server with Signature Version 4; a signing key is made once a day."""

    def __init__(self, host: str, credentials: tuple[str, str]) -> None:
        self._host = host
        self._access_key, self._secret = credentials
        self._scope = ""
        self._key = b""

    def _begin_day(self, day: str) -> None:
        self._scope = f"{day}/{REGION}/dynamodb/aws4_request"
        self._key = f"AWS4{self._secret}".encode()
        for part in self._scope.split("/"):
            self._key = hmac.digest(self._key, part.encode(), "sha256")

    def headers(self, operation: str, body: bytes) -> dict[str, str]:
        """Return the headers of a request signed now."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        if not self._scope.startswith(now[:8]):
            self._begin_day(now[:8])
        target = f"DynamoDB_20120810.{operation}"
        canonical = (
            f"POST\n/\n\ncontent-type:{_CONTENT_TYPE}\nhost:{self._host}\nx-amz-date:{now}\n"
            f"x-amz-target:{target}\n\n{_SIGNED_HEADERS}\n{hashlib.sha256(body).hexdigest()}"
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{now}\n{self._scope}\n{digest}"
        signature = hmac.digest(self._key, to_sign.encode(), "sha256").hex()
        return {
            "Host": self._host,
            "X-Amz-Target": target,
            "Content-Type": _CONTENT_TYPE,
            "X-Amz-Date": now,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={self._access_key}/{self._scope}, "
            f"SignedHeaders={_SIGNED_HEADERS}, Signature={signature}",
            "User-Agent": "Boto3/1.40 md/Botocore#1.40 lang/python",
            "amz-sdk-invocation-id": "3a1f8a0e-6f0e-4d5a-9d0b-0e7c3f6f7c11",
            "amz-sdk-request": "attempt=1",
            "Content-Length": str(len(body)),
        }

    def message(self, operation: str, request: dict[str, Any]) -> bytes:
        """Return a request as the bytes of an HTTP/1.1 message."""
        body = json.dumps(request, separators=(",", ":")).encode()
        head = "".join(f"{k}: {v}\r\n" for k, v in self.headers(operation, body).items())
        return f"POST / HTTP/1.1\r\n{head}\r\n".encode() + body
