"""Makes a client of botocore for the endpoint, region and credentials that a command names.

Without an endpoint in flags and environment, the server on this machine is used, never AWS: a
command typed by mistake must not change tables in the cloud.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, final

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
        "--endpoint-url",  # as the AWS CLI calls it
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
    endpoint = endpoint_of(given.endpoint, os.environ)
    client = open_client(make_session(given.profile), service, endpoint, given.region)
    if getattr(given, "at", None):
        TimeHeader(client).value = given.at
    return client


def make_session(profile: str | None) -> Any:
    """Return a botocore session that has credentials, made up if there are none."""
    from botocore.session import Session

    session = Session(profile=profile)
    if session.get_credentials() is None:
        session.set_credentials(_DUMMY, _DUMMY)
    return session


def open_client(session: Any, service: str, endpoint: str | None, region: str | None) -> Any:
    """Return a botocore client; without an endpoint, that of AWS is meant."""
    from botocore.config import Config

    return session.create_client(
        service,
        endpoint_url=endpoint,
        region_name=region or session.get_config_variable("region") or DEFAULT_REGION,
        config=Config(
            connect_timeout=5,
            read_timeout=60,
            retries={"mode": "standard"},
            ignore_configured_endpoint_urls=endpoint is None,
        ),
    )


@final
class TimeHeader:
    """The header X-Hashrange-At of a client's requests for items; `value` is None for none."""

    def __init__(self, client: Any) -> None:
        self.value: str | None = None
        for operation in ("GetItem", "Query", "Scan", "PutItem", "DeleteItem"):
            client.meta.events.register(f"before-call.dynamodb.{operation}", self._add)

    @contextmanager
    def sent(self, value: str) -> Iterator[None]:
        """Send a value inside."""
        self.value = value
        try:
            yield
        finally:
            self.value = None

    def _add(self, params: dict[str, Any], **_: object) -> None:
        if self.value is not None:
            params["headers"]["X-Hashrange-At"] = self.value
