"""Fixtures of the tests with real clients, each of which starts from environment variables."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.harness import server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--with-npm", action="store_true", help="run the clients that npm has to install"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the clients that need npm unless they are asked for (make clients does)."""
    if config.getoption("--with-npm", default=False):
        return
    chosen = [item for item in items if "npm" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "npm" in item.keywords])
    items[:] = chosen


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "npm: needs npm and its registry")


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A server of our own."""
    with server.hashrange() as started:
        yield started


@pytest.fixture(scope="session")
def environment(url: str) -> dict[str, str]:
    """The environment a client program gets: an endpoint, credentials and no other settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return kept | {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_PAGER": "",
        "PYTHONWARNINGS": "ignore",
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), kept.get("PATH", "")]),
    }


@pytest.fixture
def client_environment(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process the environment of a client."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
