"""Fixtures of the tests with real clients, each of which starts from environment variables."""

import os
import pathlib
import re
import sys
from collections.abc import Iterator

import pytest

from tests.harness import server

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Texts on DynamoDB with Python examples in fenced blocks.
EXAMPLES = pathlib.Path(os.environ.get("HASHRANGE_SEEDS") or REPOSITORY.parent / "shared" / "seeds")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--with-npm", action="store_true", help="run the clients that npm has to install"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs npm unless asked for (make clients does), and examples not there."""
    unwanted = set()
    if not config.getoption("--with-npm", default=False):
        unwanted.add("npm")
    if not EXAMPLES.is_dir():
        unwanted.add("examples")
    left_out = [item for item in items if unwanted.intersection(item.keywords)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "npm: needs npm and its registry")
    config.addinivalue_line("markers", "examples: needs the directory that HASHRANGE_SEEDS names")


@pytest.fixture(scope="session")
def examples() -> list[str]:
    """The Python code blocks of all example texts."""
    texts = (path.read_text() for path in sorted(EXAMPLES.iterdir()) if path.is_file())
    return [
        block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ]


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
