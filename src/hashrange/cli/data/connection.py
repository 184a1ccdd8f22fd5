"""Makes a client of botocore for the endpoint, region and credentials that a command names.

Without an endpoint in flags and environment, the server on this machine is used, never AWS: a
command typed by mistake must not change tables in the cloud.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any, Final

from hashrange.cli.http_calls import DEFAULT_ENDPOINT, DEFAULT_REGION

_DUMMY: Final = "local"
_ENDPOINT_VARIABLES: Final = (
    "HASHRANGE_ENDPOINT",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL",
)


def connection_flags() -> argparse.ArgumentParser:
    """Return the flags that name a server."""
    flags = argparse.ArgumentParser(add_help=False)
    flags.add_argument(
        "--endpoint",
        metavar="URL",
        help=f"server to talk to (default: AWS_ENDPOINT_URL, else {DEFAULT_ENDPOINT})",
    )
    flags.add_argument("--region", metavar="NAME", help=f"default: {DEFAULT_REGION}")
    flags.add_argument("--profile", metavar="NAME", help="profile of the AWS configuration")
    return flags


def endpoint_of(given: str | None, environment: Mapping[str, str]) -> str:
    """Return the URL of the server that flags or environment name, else of the local one."""
    named = (environment.get(name) for name in _ENDPOINT_VARIABLES)
    return given or next((url for url in named if url), DEFAULT_ENDPOINT)


def make_client(given: argparse.Namespace, service: str = "dynamodb") -> Any:
    """Return a botocore client for the server of a command."""
    from botocore.config import Config
    from botocore.session import Session

    session = Session(profile=given.profile)
    keys: dict[str, str] = {}
    if session.get_credentials() is None:
        keys = {"aws_access_key_id": _DUMMY, "aws_secret_access_key": _DUMMY}
    client = session.create_client(
        service,
        endpoint_url=endpoint_of(given.endpoint, os.environ),
        region_name=given.region or session.get_config_variable("region") or DEFAULT_REGION,
        config=Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard"}),
        **keys,
    )
    if getattr(given, "at", None):
        read_past(client, given.at)
    return client


def read_past(client: Any, time: str) -> None:
    """Have a client's reads of items see their table as it was at a time."""

    def add(params: dict[str, Any], **_: object) -> None:
        params["headers"]["X-Hashrange-At"] = time

    for operation in ("GetItem", "Query", "Scan"):
        client.meta.events.register(f"before-call.dynamodb.{operation}", add)
