"""pytest fixtures: DynamoDB in this process, or a real server (see `hashrange.testing`).

Design files (`*.design.toml`, .yaml, .json) are collected as tests of their access patterns.
boto3 is slow to import, so nothing here imports it before a fixture is used.

For the whole run, boto3 gets a region and made-up credentials if the environment and the files of
the AWS CLI have none, so that clients which modules make when they are imported can be made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from hashrange.testing import LocalDynamoDB, LocalServer
    from hashrange.toolkit.design.model import Design
    from hashrange.toolkit.rehearsal.rehearse import Rehearsal, Settings


_SETTINGS: Final = {
    "AWS_DEFAULT_REGION": ("us-east-1", ("AWS_REGION",), ("AWS_CONFIG_FILE", "config")),
    "AWS_ACCESS_KEY_ID": ("testing", (), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")),
    "AWS_SECRET_ACCESS_KEY": ("testing", (), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")),
}
"""Variables with their defaults, what else may say the same, and the file that may say it."""

_set_here: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    """See to it that also clients which modules make when they are imported are reached."""
    config.addinivalue_line(
        "markers",
        "dynamodb(capacity, faults): how the fixtures `dynamodb` and `dynamodb_server` are made; "
        "see hashrange.testing.local",
    )
    _set_here.extend(_missing_settings(os.environ))
    os.environ.update({name: _SETTINGS[name][0] for name in _set_here})
    with suppress(ImportError):
        import botocore

        botocore.register_initializer(_reach_session)


def _missing_settings(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that neither the environment nor a file of the AWS CLI stands for."""
    missing = []
    for name, (_, others, (variable, file)) in _SETTINGS.items():
        given = environment.get(variable)
        path = Path(given) if given else Path.home() / ".aws" / file
        names = (name, *others, "AWS_PROFILE", "AWS_DEFAULT_PROFILE")
        if not any(each in environment for each in names) and not path.exists():
            missing.append(name)
    return missing


def pytest_unconfigure() -> None:
    while _set_here:
        os.environ.pop(_set_here.pop(), None)
    with suppress(ImportError, ValueError):
        import botocore

        botocore.unregister_initializer(_reach_session)


def _reach_session(session: Any) -> None:
    from hashrange.testing import reach_session

    reach_session(session)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect design files: a test for the design, and one for each access pattern."""
    if ".design" not in file_path.suffixes:
        return None
    from hashrange.testing.designs import SUFFIXES, DesignFile

    if not file_path.name.endswith(SUFFIXES):
        return None
    collector: pytest.Collector = DesignFile.from_parent(parent, path=file_path)
    return collector


@pytest.fixture
def rehearse_design() -> Callable[[Design, Settings | None], Rehearsal]:
    """A function that runs all access patterns of a design on generated data in this process."""
    from hashrange.testing.designs import rehearse_locally

    return rehearse_locally


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return what the marker `dynamodb` of a test asks for."""
    marker = request.node.get_closest_marker("dynamodb")
    return {} if marker is None else dict(marker.kwargs)


@pytest.fixture
def dynamodb(request: pytest.FixtureRequest) -> Iterator[LocalDynamoDB]:
    """A fresh DynamoDB in this process, which all boto3 clients reach."""
    from hashrange.testing import local

    with local(**_options(request)) as here:
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
def dynamodb_server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """A fresh DynamoDB server on a free port: its endpoint_url, clients and clock."""
    from hashrange.testing import serve

    with serve(**_options(request)) as server:
        yield server
