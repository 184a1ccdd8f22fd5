"""Fixtures of the black-box tests, which know the server only by its URL.

Without --url two of them are started in memory on free ports, once for each test process: one that
works, and one that plays a cluster with all its faults. With --url any endpoint is put to the test:
AWS's behaviour is what is asked for, and tests marked `beyond_dynamodb_local` are skipped where
DynamoDB Local is known to differ from AWS.
"""

import contextlib
import itertools
import os
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.harness import server
from tests.harness.endpoint import Endpoint

SESSION = boto3.session.Session(
    aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret", region_name="us-east-1"
)
# Requests go out as the tests write them, also wrong ones, and once.
CONFIG = Config(retries={"total_max_attempts": 1}, parameter_validation=False)
WAIT_SECONDS_MAX = 10.0
POLL_SECONDS = 0.005


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--url", help="endpoint to test (default: a Hashrange of its own)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "beyond_dynamodb_local(reason): AWS's behaviour, which DynamoDB Local lacks"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "url" in metafunc.fixturenames:
        given = metafunc.config.getoption("--url", default=None)
        endpoints = [given] if given else ["memory", "cluster"]
        metafunc.parametrize("url", endpoints, indirect=True, scope="session")


@pytest.fixture(scope="session")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The endpoint under test."""
    if request.param not in ("memory", "cluster"):
        yield request.param
        return
    module = "hashrange" if request.param == "memory" else "tests.harness.cluster_server"
    with server.hashrange(module=module) as started:
        yield started


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, as for a global index, which is read eventually."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(POLL_SECONDS)


def wait_for_index(client: Any, table: str, index: str, count: int) -> None:
    """Wait until an index has so many entries."""
    eventually(lambda: client.scan(TableName=table, IndexName=index)["Count"] == count)


@pytest.fixture(scope="session")
def is_dynamodb_local(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as response:
            headers = response.headers
    except urllib.error.HTTPError as refusal:
        headers = refusal.headers
        refusal.close()
    return "Jetty" in headers.get("Server", "")


@pytest.fixture(autouse=True)
def _skip_beyond_dynamodb_local(request: pytest.FixtureRequest, is_dynamodb_local: bool) -> None:
    marker = request.node.get_closest_marker("beyond_dynamodb_local")
    if marker and is_dynamodb_local:
        pytest.skip(marker.args[0])


@pytest.fixture(scope="session")
def client(url: str) -> Iterator[Any]:
    """A boto3 client that neither checks parameters nor retries."""
    found = SESSION.client("dynamodb", endpoint_url=url, config=CONFIG)
    yield found
    found.close()


@pytest.fixture(scope="session")
def raw(url: str) -> Iterator[Endpoint]:
    """The endpoint spoken to in raw JSON."""
    endpoint = Endpoint(url)
    yield endpoint
    endpoint.close()


Refused = Callable[..., contextlib.AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def refused(is_dynamodb_local: bool) -> Refused:
    """A context manager expecting an error of this type and exactly this message.

    AWS began in 2026 to put some refusals of PutItem, UpdateItem and DeleteItem in an envelope,
    which DynamoDB Local does not know.
    """

    @contextlib.contextmanager
    def expect(
        code: str, message: str | re.Pattern[str], is_enveloped: bool = False
    ) -> Iterator[Any]:
        if is_enveloped and not is_dynamodb_local:
            message = f"1 validation error detected: {message}"
        with pytest.raises(ClientError) as caught:
            yield caught
        error = caught.value.response["Error"]
        if isinstance(message, str):
            assert (error["Code"], error["Message"]) == (code, message)
        else:
            assert error["Code"] == code
            assert message.search(error["Message"]), error["Message"]

    return expect


class Tables:
    """Makes tables with unique names and takes them away again."""

    counter = itertools.count()

    def __init__(self, client: Any):
        self.client = client
        self.names: list[str] = []

    def unique_name(self) -> str:
        """Return a name nobody else uses; a table of this name is deleted afterwards."""
        name = f"test-{os.getpid()}-{next(self.counter)}-{os.urandom(3).hex()}"
        self.names.append(name)
        return name

    def create(self, *key: str, **more: Any) -> str:
        """Create a table from keys written as "name:TYPE"; returns its name.

        `local` and `indexes` map index names to their keys, written the same way.
        """
        request = self.request(*key, **more)
        self.client.create_table(**request)
        return str(request["TableName"])

    def request(
        self,
        *key: str,
        local: dict[str, tuple[str, ...]] | None = None,
        indexes: dict[str, tuple[str, ...]] | None = None,
        projections: dict[str, dict[str, Any]] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Return the CreateTable request."""
        types: dict[str, str] = {}
        request: dict[str, Any] = {
            "TableName": self.unique_name(),
            "KeySchema": key_schema(key, types),
        }
        if "ProvisionedThroughput" not in more:
            request["BillingMode"] = "PAY_PER_REQUEST"
        for parameter, wanted in (
            ("LocalSecondaryIndexes", local),
            ("GlobalSecondaryIndexes", indexes),
        ):
            if wanted:
                request[parameter] = [
                    {
                        "IndexName": name,
                        "KeySchema": key_schema(parts, types),
                        "Projection": (projections or {}).get(name, {"ProjectionType": "ALL"}),
                    }
                    for name, parts in wanted.items()
                ]
        request["AttributeDefinitions"] = [
            {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
        ]
        return request | more

    def drop_all(self) -> None:
        for name in self.names:
            with contextlib.suppress(ClientError):
                self.client.delete_table(TableName=name)


def key_schema(parts: tuple[str, ...], types: dict[str, str]) -> list[dict[str, str]]:
    """Read "name:TYPE" parts; the first is HASH, "+name:TYPE" repeats the kind before it."""
    schema: list[dict[str, str]] = []
    for part in parts:
        name, _, kind = part.lstrip("+").partition(":")
        types[name] = kind
        key_type = (
            schema[-1]["KeyType"] if part.startswith("+") else ("RANGE" if schema else "HASH")
        )
        schema.append({"AttributeName": name, "KeyType": key_type})
    return schema


@pytest.fixture
def tables(client: Any) -> Iterator[Tables]:
    made = Tables(client)
    yield made
    made.drop_all()


@pytest.fixture
def hash_table(tables: Tables) -> str:
    """A table with partition key p (string)."""
    return tables.create("p:S")


@pytest.fixture
def composite_table(tables: Tables) -> str:
    """A table with partition key p (string) and sort key r (string)."""
    return tables.create("p:S", "r:S")
