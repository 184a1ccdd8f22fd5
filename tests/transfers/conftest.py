"""Servers whose buckets are a folder of the test: in memory, on SQLite, and playing a cluster."""

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.harness import server

ENGINES = ("memory", "sqlite", "cluster")
WAIT_SECONDS_MAX = 60.0
_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--with-judges", action="store_true", help="run what make transfers installs")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "judges: needs programs of others, see make transfers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs programs of others, unless it was asked for."""
    if config.getoption("--with-judges", default=False):
        return
    left_out = [item for item in items if "judges" in item.keywords]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if "judges" not in item.keywords]


@dataclass
class World:
    """A server, its clients, and the folder of its buckets."""

    url: str
    buckets: Path
    engine: str

    def client(self, service: str, **options: Any) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="secret",
            config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
            **options,
        )

    def bucket(self) -> str:
        """Make a bucket."""
        name = f"bucket-{next(_numbers)}"
        (self.buckets / name).mkdir(parents=True)
        return name


@contextlib.contextmanager
def start(engine: str, folder: Path, *flags: str) -> Iterator[World]:
    buckets = folder / "buckets"
    options = ("--bucket-dir", str(buckets), *flags)
    if engine == "sqlite":
        port = server.free_port()
        command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port)]
        command += ["--workers", "2", "--data-dir", str(folder / "data"), *options]
        with server.running(command, port) as url:
            yield World(url, buckets, engine)
        return
    module = "hashrange" if engine == "memory" else "tests.harness.cluster_server"
    with server.hashrange(*options, module=module) as url:
        yield World(url, buckets, engine)


@pytest.fixture(scope="package", params=ENGINES)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    with start(request.param, tmp_path_factory.mktemp("transfers")) as started:
        yield started


@pytest.fixture
def dynamodb(world: World) -> Any:
    return world.client("dynamodb")


@pytest.fixture
def bucket(world: World) -> str:
    return world.bucket()


@pytest.fixture
def table(dynamodb: Any) -> str:
    """A table with keys a and b and point-in-time recovery."""
    name = f"table{next(_numbers)}"
    dynamodb.create_table(TableName=name, **DEFINITION)
    dynamodb.update_continuous_backups(
        TableName=name,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    return name


DEFINITION: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "a", "AttributeType": "S"},
        {"AttributeName": "b", "AttributeType": "N"},
        {"AttributeName": "c", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "a", "KeyType": "HASH"},
        {"AttributeName": "b", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-c",
            "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def make_items(count: int) -> list[dict[str, Any]]:
    """Return items with values of all types."""
    return [
        {
            "a": {"S": f"p{number % 11}"},
            "b": {"N": str(number)},
            **({"c": {"S": f"c{number % 3}"}} if number % 4 else {}),
            "text": {"S": 'quote " and \u00e4 \U0001f600 \n'},
            "number": {"N": f"-{number}.25"},
            "bytes": {"B": bytes([number % 256, 0, 255])},
            "yes": {"BOOL": True},
            "nothing": {"NULL": True},
            "list": {"L": [{"N": "1"}, {"M": {"in ner": {"S": ""}}}]},
            "texts": {"SS": ["x", "y"]},
            "numbers": {"NS": ["1", "2.5"]},
            "blobs": {"BS": [b"1", b"2"]},
        }
        for number in range(count)
    ]


def put_all(dynamodb: Any, table: str, items: list[dict[str, Any]]) -> None:
    for start_at in range(0, len(items), 25):
        requests = [{"PutRequest": {"Item": item}} for item in items[start_at : start_at + 25]]
        while requests:
            answer = dynamodb.batch_write_item(RequestItems={table: requests})
            requests = answer["UnprocessedItems"].get(table, [])


def contents(dynamodb: Any, table: str) -> dict[tuple[str, str], dict[str, Any]]:
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return {
        (item["a"]["S"], item["b"]["N"]): comparable(item)
        for page in pages
        for item in page["Items"]
    }


def comparable(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item whose sets are in order."""
    return {
        name: {kind: sorted(content) if kind in ("SS", "NS", "BS") else content}
        for name, value in item.items()
        for kind, content in value.items()
    }


def wait(describe: Callable[[], dict[str, Any]], status: str) -> dict[str, Any]:
    """Wait until a job is over."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        described = describe()
        if described[status] not in ("IN_PROGRESS", "CANCELLING"):
            return described
        assert time.monotonic() < deadline, described
        time.sleep(0.01)
