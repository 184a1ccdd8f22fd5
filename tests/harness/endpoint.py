"""A DynamoDB endpoint spoken to in raw JSON: signed, but neither checked nor retried.

The SDKs refuse to send mistyped requests and hide parts of the answers; tests of the wire need
both. One instance holds one keep-alive connection and belongs to one thread.
"""

import dataclasses
import json
import time
import urllib.parse
from http.client import HTTPConnection, HTTPException
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

SERVICE_TARGETS = {"dynamodb": "DynamoDB_20120810", "streams": "DynamoDBStreams_20120810"}
REQUEST_SECONDS_MAX = 60.0


@dataclasses.dataclass(frozen=True)
class Reply:
    """Status, short error type ("" when successful) and decoded body of one answer."""

    status: int
    error: str
    message: str
    body: Any


class Endpoint:
    """One server, one region, one pair of credentials."""

    def __init__(self, url: str, access_key: str = "AKIDEXAMPLE", region: str = "us-east-1"):
        self.url = url
        self._host = urllib.parse.urlsplit(url).netloc
        self._signer = SigV4Auth(Credentials(access_key, "secret"), "dynamodb", region)
        self._connection = HTTPConnection(self._host, timeout=REQUEST_SECONDS_MAX)

    def call(self, operation: str, request: Any) -> Reply:
        """Send a request given as anything JSON can say."""
        return self.send(operation, json.dumps(request).encode())

    def send(self, operation: str, body: bytes, service: str = "dynamodb") -> Reply:
        """Send a body byte for byte."""
        headers = self._signed_headers(f"{SERVICE_TARGETS[service]}.{operation}", body)
        for attempt in (1, 2):
            try:
                self._connection.request("POST", "/", body, headers)
                response = self._connection.getresponse()
                return read_reply(response.status, response.read())
            except (HTTPException, ConnectionError):
                # A server may close an idle connection; a second failure is the server's fault.
                self._connection.close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def wait_active(self, table: str, seconds_max: float = 30.0) -> None:
        """Wait until a table and its indexes can be used."""
        deadline = time.monotonic() + seconds_max
        while True:
            body = self.call("DescribeTable", {"TableName": table}).body
            description = body.get("Table", {})
            parts = [description, *description.get("GlobalSecondaryIndexes", [])]
            states = {p.get("TableStatus") or p.get("IndexStatus") for p in parts}
            if states == {"ACTIVE"}:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"table {table} stays {states}")
            time.sleep(0.02)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _signed_headers(self, target: str, body: bytes) -> dict[str, str]:
        request = AWSRequest(
            "POST",
            self.url + "/",
            {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target},
            body,
        )
        self._signer.add_auth(request)
        return dict(request.headers.items())


def read_reply(status: int, payload: bytes) -> Reply:
    """Decode an answer; error types lose their name space."""
    try:
        body = json.loads(payload) if payload else {}
    except ValueError:
        return Reply(status, "NotJson", payload[:200].decode(errors="replace"), None)
    if status == 200 or not isinstance(body, dict):
        return Reply(status, "", "", body)
    error = str(body.get("__type", "")).rpartition("#")[2]
    message = body.get("message", body.get("Message", ""))
    return Reply(status, error, "" if message is None else str(message), body)
