"""Requests of the command line to a running server: HTTP, signed with the user's credentials."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, Final, final
from urllib.parse import quote, urlsplit

DEFAULT_ENDPOINT: Final = "http://127.0.0.1:8000"
DEFAULT_REGION: Final = "us-east-1"
_DUMMY: Final = "local"
_SECONDS_MAX: Final = 30.0
_SIGNED: Final = ("host", "x-amz-date", "x-amz-target", "x-amz-security-token")


class CallError(Exception):
    """A request failed; the message says why, for people."""


@final
class Endpoint:
    """A server, and the credentials to call it with."""

    def __init__(self, url: str, region: str, environment: Mapping[str, str]) -> None:
        self._parts = urlsplit(url)
        if self._parts.scheme not in ("http", "https") or not self._parts.netloc:
            raise CallError(f"{url} is not the URL of a server.")
        self._url = url
        self._region = region
        self._access_key = environment.get("AWS_ACCESS_KEY_ID") or _DUMMY
        self._secret = environment.get("AWS_SECRET_ACCESS_KEY") or _DUMMY
        self._ca_bundle = environment.get("AWS_CA_BUNDLE") or None
        self._token = environment.get("AWS_SESSION_TOKEN") or None

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call an operation of DynamoDB."""
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        return self._send("POST", "/", request, headers, "dynamodb")

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Call an operation by its path."""
        pairs = sorted((query or {}).items())
        text = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in pairs)
        url = f"{path}?{text}" if text else path
        return self._send(method, url, body, {"Content-Type": "application/json"}, "lambda")

    def _send(
        self,
        method: str,
        url: str,
        request: Mapping[str, Any] | None,
        headers: dict[str, str],
        service: str,
    ) -> dict[str, Any]:
        # Slow to import, and most commands send nothing.
        import http.client
        import ssl

        body = b"" if request is None else json.dumps(request).encode()
        headers = self._sign(method, url, body, headers, service)
        netloc = self._parts.netloc
        connection = http.client.HTTPConnection(netloc, timeout=_SECONDS_MAX)
        try:
            if self._parts.scheme == "https":
                trusted = ssl.create_default_context(cafile=self._ca_bundle)
                connection = http.client.HTTPSConnection(
                    netloc, timeout=_SECONDS_MAX, context=trusted
                )
            connection.request(method, url, body, headers)
            response = connection.getresponse()
            return _read(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise CallError(f"No server answers at {self._url}: {error}.") from error
        finally:
            connection.close()

    def _sign(
        self, method: str, url: str, body: bytes, headers: dict[str, str], service: str
    ) -> dict[str, str]:
        """Return the headers with a Signature Version 4."""
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {**headers, "Host": self._parts.netloc, "X-Amz-Date": moment}
        if self._token is not None:
            headers["X-Amz-Security-Token"] = self._token
        lines = {name.lower(): value for name, value in headers.items()}
        names = sorted(name for name in _SIGNED if name in lines)
        path, _, query = url.partition("?")
        canonical = "\n".join(
            [
                *(method, path, query),
                *(f"{name}:{lines[name]}" for name in names),
                *("", ";".join(names), hashlib.sha256(body).hexdigest()),
            ]
        )
        scope = f"{moment[:8]}/{self._region}/{service}/aws4_request"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
        key = f"AWS4{self._secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self._access_key}/{scope}, "
            f"SignedHeaders={';'.join(names)}, Signature={signature}"
        )
        return headers


def _read(status: int, body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body) if body else {}
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise CallError(f"This is no Hashrange server: it answered {body[:80]!r}.")
    if status >= 300:
        message = document.get("message") or document.get("Message") or document.get("__type")
        raise CallError(str(message or f"The server answered with status {status}."))
    return document
