"""The table operations on a memory engine and a virtual clock, run as the pipeline runs them."""

import asyncio
from typing import Any

from hashrange.api.operation import Context, Operation
from hashrange.api.shapes import requests
from hashrange.api.tables.create_table import create_table
from hashrange.api.tables.other_operations import (
    delete_table,
    describe_endpoints,
    describe_limits,
    describe_table,
    list_tables,
)
from hashrange.api.tables.tags import list_tags_of_resource, tag_resource, untag_resource
from hashrange.api.tables.time_to_live import describe_time_to_live, update_time_to_live
from hashrange.api.tables.update_table import update_table
from hashrange.clock import VirtualClock
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.errors import ClientError
from hashrange.keyring.table_keys import TableKeys
from hashrange.services.backfill import Backfill
from hashrange.storage.catalog import Catalog, Delays
from tests.harness.calls import scope_in
from tests.harness.identities import key_store

_OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("CreateTable", requests.CREATE_TABLE, create_table),
        Operation("DeleteTable", requests.DELETE_TABLE, delete_table),
        Operation("DescribeEndpoints", requests.DESCRIBE_ENDPOINTS, describe_endpoints),
        Operation("DescribeLimits", requests.DESCRIBE_LIMITS, describe_limits),
        Operation("DescribeTable", requests.DESCRIBE_TABLE, describe_table),
        Operation("DescribeTimeToLive", requests.DESCRIBE_TIME_TO_LIVE, describe_time_to_live),
        Operation("ListTables", requests.LIST_TABLES, list_tables),
        Operation("ListTagsOfResource", requests.LIST_TAGS_OF_RESOURCE, list_tags_of_resource),
        Operation("TagResource", requests.TAG_RESOURCE, tag_resource),
        Operation("UntagResource", requests.UNTAG_RESOURCE, untag_resource),
        Operation("UpdateTable", requests.UPDATE_TABLE, update_table),
        Operation("UpdateTimeToLive", requests.UPDATE_TIME_TO_LIVE, update_time_to_live),
    )
}

ACCOUNT = "000000000000"
REGION = "us-east-1"


class Tables:
    """One account and region on an engine of their own."""

    def __init__(self, delays: Delays | None = None, engine: Engine | None = None) -> None:
        self.engine = engine or MemoryEngine()
        self.clock = VirtualClock()
        self.catalog = Catalog(self.engine, self.clock, delays)
        self.backfill = Backfill(self.engine, self.catalog, self.clock)
        self.keyring = key_store(self.engine)
        self.context = Context(
            ACCOUNT,
            REGION,
            catalog=self.catalog,
            engine=self.engine,
            clock=self.clock,
            table_keys=TableKeys(self.keyring, self.clock),
        )

    def call(self, name: str, **request: Any) -> dict[str, Any]:
        """Carry out an operation."""
        operation = _OPERATIONS[name]
        operation.shape.check(request)
        answering: Any = operation.run(scope_in(self.context), request)
        return asyncio.run(answering)

    def refusal(self, name: str, **request: Any) -> str:
        """Return "type: message" of the error an operation answers with."""
        try:
            self.call(name, **request)
        except ClientError as error:
            return f"{error.code}: {error.message}"
        raise AssertionError(f"{name} was carried out")

    def create(self, name: str = "table", **settings: Any) -> dict[str, Any]:
        """Create a table with partition key a and sort key b, on demand unless told otherwise."""
        request = {
            "AttributeDefinitions": definitions("a", "b"),
            "KeySchema": key_schema("a", "b"),
            "BillingMode": "PAY_PER_REQUEST",
        } | settings
        return self.call("CreateTable", TableName=name, **request)["TableDescription"]

    def describe(self, name: str = "table") -> dict[str, Any]:
        """Return a table's description."""
        return self.call("DescribeTable", TableName=name)["Table"]


def definitions(*names: str) -> list[dict[str, str]]:
    """Return AttributeDefinitions of strings."""
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def key_schema(*names: str) -> list[dict[str, str]]:
    """Return a KeySchema of a partition key and sort keys."""
    return [
        {"AttributeName": name, "KeyType": "RANGE" if position else "HASH"}
        for position, name in enumerate(names)
    ]


def index(name: str, *keys: str, **settings: Any) -> dict[str, Any]:
    """Return an index that projects everything."""
    projection = {"ProjectionType": "ALL"}
    return {
        "IndexName": name,
        "KeySchema": key_schema(*keys),
        "Projection": projection,
    } | settings
