"""The two ends of a copy: which table of which endpoint, and the calls to it.

    TABLE                    on the endpoint of the command's flags and environment
    http://HOST:PORT/TABLE   on this endpoint; https too
    aws://REGION/TABLE       on AWS

A target without a table, such as http://HOST:PORT/, means the table's name on the source.

Items pass through a copy as the JSON they came in, so calls on them are made without botocore's
conversions: `RawClient` signs and sends the JSON document of an operation. Its methods are named
as those of boto3's clients, so plans of the toolkit can use it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final
from urllib.parse import urlsplit

import orjson

from hashrange.cli.data.connection import endpoint_of, open_client
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.streams.shards import SERVICE as STREAMS

_CONNECTIONS_MAX: Final = 128
_TIMEOUTS: Final = (5, 60)
_TARGETS: Final = {"dynamodb": "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}
_OPERATIONS: Final = {
    "scan": "Scan",
    "batch_write_item": "BatchWriteItem",
    "batch_get_item": "BatchGetItem",
    "describe_stream": "DescribeStream",
    "get_shard_iterator": "GetShardIterator",
    "get_records": "GetRecords",
}


class PlaceError(Exception):
    """A text names no table of an endpoint."""


@final
@dataclass(frozen=True, slots=True)
class PlaceName:
    """What the text of a place says; no endpoint means AWS."""

    endpoint: str | None
    region: str | None
    table: str

    def __str__(self) -> str:
        server = self.endpoint or f"aws://{self.region}"
        return f"{server.rstrip('/')}/{self.table}"


def read_place(text: str, default_endpoint: str | None, default_table: str = "") -> PlaceName:
    """Return which table of which endpoint a text names."""
    if "://" not in text:
        return PlaceName(endpoint_of(default_endpoint, os.environ), None, text)
    parts = urlsplit(text)
    table = parts.path.strip("/") or default_table
    if not parts.netloc or parts.scheme not in ("aws", "http", "https"):
        raise PlaceError(f"{text} is no TABLE, http://HOST/TABLE or aws://REGION/TABLE")
    if not table or "/" in table:
        raise PlaceError(f"{text} names no table")
    if parts.scheme == "aws":
        return PlaceName(None, parts.netloc, table)
    return PlaceName(f"{parts.scheme}://{parts.netloc}", None, table)


@final
class Place:
    """A table of an endpoint: `client` for settings, `driver` for plans on items."""

    def __init__(self, name: PlaceName, session: Any, region: str | None) -> None:
        self.name = name
        self.table = name.table
        self._session = session
        self._region = name.region or region
        self.client = open_client(session, "dynamodb", name.endpoint, self._region)
        self.driver = SyncDriver(RawClient(session, self.client, "dynamodb"))

    def streams_driver(self) -> SyncDriver:
        """Return a driver for plans on streams."""
        client = open_client(self._session, STREAMS, self.name.endpoint, self._region)
        raw = RawClient(self._session, client, STREAMS)
        return SyncDriver(raw, {STREAMS: raw})

    @property
    def identity(self) -> tuple[str, str, str]:
        """What two places share only if they are the same table."""
        return self.client.meta.endpoint_url, self.client.meta.region_name, self.table

    def describe(self) -> dict[str, Any] | None:
        """Return the description of the table; None if it is not there."""
        from botocore.exceptions import ClientError

        try:
            described: dict[str, Any] = self.client.describe_table(TableName=self.table)["Table"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            return None
        return described


@final
class RawClient:
    """Calls operations with JSON documents as they are on the wire. Threads may share it."""

    def __init__(self, session: Any, client: Any, service: str) -> None:
        from botocore.httpsession import URLLib3Session

        self._url: str = client.meta.endpoint_url
        self._region: str = client.meta.region_name
        self._target = _TARGETS[service]
        self._credentials = session.get_credentials()
        self._http = URLLib3Session(
            timeout=_TIMEOUTS,
            max_pool_connections=_CONNECTIONS_MAX,
            verify=session.get_config_variable("ca_bundle") or True,
        )

    def __getattr__(self, name: str) -> Any:
        operation = _OPERATIONS.get(name)
        if operation is None:
            raise AttributeError(name)
        return partial(self._call, operation)

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        headers = {
            "X-Amz-Target": f"{self._target}.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
            "Accept-Encoding": "identity",
        }
        signed = AWSRequest("POST", self._url, headers, orjson.dumps(request))
        frozen = self._credentials.get_frozen_credentials()
        SigV4Auth(frozen, "dynamodb", self._region).add_auth(signed)
        response = self._http.send(signed.prepare())
        return _read(operation, response.status_code, response.content)


def _read(operation: str, status: int, content: bytes) -> dict[str, Any]:
    from botocore.exceptions import ClientError

    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        document = None
    if status == 200 and isinstance(document, dict):
        return document
    said: Mapping[str, Any] = document if isinstance(document, dict) else {}
    code = str(said.get("__type", "")).rpartition("#")[2] or "ServiceUnavailable"
    message = said.get("message") or said.get("Message") or f"status {status}"
    answer = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    raise ClientError(answer, operation)
