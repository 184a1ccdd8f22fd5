"""pytest fixtures: DynamoDB in this process, or a real server (see `hashrange.testing`).

boto3 is slow to import, so nothing here imports it before a fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hashrange.testing import LocalDynamoDB, LocalServer


def pytest_configure() -> None:
    """See to it that also clients which modules make when they are imported are reached."""
    with suppress(ImportError):
        import botocore

        botocore.register_initializer(_reach_session)


def pytest_unconfigure() -> None:
    with suppress(ImportError, ValueError):
        import botocore

        botocore.unregister_initializer(_reach_session)


def _reach_session(session: Any) -> None:
    from hashrange.testing import reach_session

    reach_session(session)


@pytest.fixture
def dynamodb() -> Iterator[LocalDynamoDB]:
    """A fresh DynamoDB in this process, which all boto3 clients reach."""
    from hashrange.testing import local

    with local() as here:
        yield here


@pytest.fixture
def dynamodb_client(dynamodb: LocalDynamoDB) -> Any:
    """A boto3 client of `dynamodb`."""
    return dynamodb.client()


@pytest.fixture
def dynamodb_resource(dynamodb: LocalDynamoDB) -> Any:
    """A boto3 service resource of `dynamodb`."""
    return dynamodb.resource()


@pytest.fixture
def dynamodb_server() -> Iterator[LocalServer]:
    """A fresh DynamoDB server on a free port: its endpoint_url, clients and clock."""
    from hashrange.testing import serve

    with serve() as server:
        yield server
