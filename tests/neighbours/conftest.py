"""A server, and clients of its neighbour services."""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.harness import server


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A server of our own."""
    with server.hashrange() as started:
        yield started


@pytest.fixture
def client(url: str) -> Callable[..., Any]:
    """Make a boto3 client of any service."""

    def make(service: str, access_key: str = "AKIDEXAMPLE", secret: str = "secret", **more: Any):
        config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        return boto3.client(
            service,
            endpoint_url=more.pop("endpoint_url", url),
            region_name="eu-west-1",
            aws_access_key_id=access_key,
            aws_secret_access_key=secret,
            config=config,
            **more,
        )

    return make
