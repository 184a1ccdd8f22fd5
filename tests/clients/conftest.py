"""Fixtures of the tests with real clients, each of which starts from environment variables."""

import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.harness import server

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Texts on DynamoDB with Python examples in fenced blocks.
EXAMPLES = pathlib.Path(os.environ.get("HASHRANGE_SEEDS") or REPOSITORY.parent / "shared" / "seeds")


# What is run only when asked for with --with-NAME, because it has to be installed first.
TOOLS = {
    "npm": "npm and its registry",
    "go": "Go and its proxy",
    "java": "Java and Maven",
    "cli": "many calls of the AWS CLI, a second each",
    "prometheus": "prometheus and promtool",
    "more": "uv, npm, Go and their indexes",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, needs in TOOLS.items():
        parser.addoption(f"--with-{name}", action="store_true", help=f"run what needs {needs}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs a tool that was not named, and examples that are not there."""
    unwanted = {name for name in TOOLS if not config.getoption(f"--with-{name}", default=False)}
    if not EXAMPLES.is_dir():
        unwanted.add("examples")
    # Markers, and not keywords, to which the names of folders belong as well.
    left_out = [
        item for item in items if unwanted.intersection(mark.name for mark in item.iter_markers())
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_configure(config: pytest.Config) -> None:
    for name, needs in TOOLS.items():
        config.addinivalue_line("markers", f"{name}: needs {needs}")
    config.addinivalue_line("markers", "examples: needs the directory that HASHRANGE_SEEDS names")


@pytest.fixture(scope="session")
def examples() -> list[str]:
    """The Python code blocks of all example texts."""
    texts = (path.read_text() for path in sorted(EXAMPLES.iterdir()) if path.is_file())
    return [
        block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ]


@pytest.fixture(scope="session")
def tool_directory() -> Callable[[str], pathlib.Path]:
    """A directory in the user's cache for what a tool downloads and builds, by name."""

    def make(name: str) -> pathlib.Path:
        root = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        home = pathlib.Path(root) / "hashrange-tests" / name
        home.mkdir(parents=True, exist_ok=True)
        return home

    return make


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A server of our own."""
    with server.hashrange("--allow-functions") as started:
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
