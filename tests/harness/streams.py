"""A database on a virtual clock, called through its pipeline, and whole streams read from it."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from hashrange.app import engines
from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.base import Engine
from hashrange.storage.catalog import Delays
from hashrange.wire.http.messages import HttpAnswer
from tests.harness.calls import answer

KEYS = {
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Refused(Exception):
    """An error answer, as "type: message"."""


class StreamedTable:
    """A table with a stream; every call does first what is due by the clock."""

    def __init__(
        self,
        view_type: str | None = "NEW_AND_OLD_IMAGES",
        *,
        engine: Engine | None = None,
        delays: Delays | None = None,
    ) -> None:
        self.runner = asyncio.Runner()
        self.clock = VirtualClock()
        self.database = Database(engine or vars(engines)["MemoryEngine"](), self.clock, delays)
        self.arn = ""
        settings: dict[str, Any] = {}
        if view_type is not None:
            settings["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view_type}
        self.create(**settings)

    def create(self, **settings: Any) -> None:
        table = self.call("CreateTable", TableName="table", **KEYS, **settings)["TableDescription"]
        self.arn = table.get("LatestStreamArn", "")

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        """Carry out an operation."""
        body = json.dumps(request).encode()

        async def run() -> HttpAnswer:
            await self.database.do_due_work()
            return await answer(self.database, operation, body)

        answered = self.runner.run(run())
        document: dict[str, Any] = json.loads(answered.body)
        if answered.status != 200:
            kind = document["__type"].partition("#")[2]
            raise Refused(f"{kind}: {document.get('message', '')}")
        return document

    def refusal(self, operation: str, **request: Any) -> str:
        """Return "type: message" of the error an operation answers with."""
        try:
            self.call(operation, **request)
        except Refused as refusal:
            return str(refusal)
        raise AssertionError(f"{operation} was carried out")

    def put(self, key: str, **attributes: str) -> None:
        item = {"p": {"S": key}} | {name: {"S": value} for name, value in attributes.items()}
        self.call("PutItem", TableName="table", Item=item)

    def delete(self, key: str) -> None:
        self.call("DeleteItem", TableName="table", Key={"p": {"S": key}})

    def set_stream(self, view_type: str | None) -> None:
        """Enable the stream, or disable it with None."""
        wanted: dict[str, Any] = {"StreamEnabled": view_type is not None}
        if view_type is not None:
            wanted["StreamViewType"] = view_type
        described = self.call("UpdateTable", TableName="table", StreamSpecification=wanted)
        self.arn = described["TableDescription"]["LatestStreamArn"]

    def describe(self, **request: Any) -> dict[str, Any]:
        described = self.call("DescribeStream", **{"StreamArn": self.arn} | request)
        document: dict[str, Any] = described["StreamDescription"]
        return document

    def shards(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = self.describe()["Shards"]
        return shards

    def iterator(self, shard: dict[str, Any], kind: str = "TRIM_HORIZON", **more: Any) -> str:
        found = self.call(
            "GetShardIterator",
            StreamArn=self.arn,
            ShardId=shard["ShardId"],
            ShardIteratorType=kind,
            **more,
        )
        return str(found["ShardIterator"])

    def pages(self, iterator: str | None, **request: Any) -> Iterator[list[dict[str, Any]]]:
        """Read from an iterator to the end of a closed shard, or to the first empty page."""
        while iterator is not None:
            page = self.call("GetRecords", ShardIterator=iterator, **request)
            yield page["Records"]
            iterator = page.get("NextShardIterator")
            if not page["Records"]:
                return

    def records(self, shard: dict[str, Any], kind: str = "TRIM_HORIZON") -> list[dict[str, Any]]:
        """Return all records of a shard."""
        return [record for page in self.pages(self.iterator(shard, kind)) for record in page]

    def all_records(self) -> list[dict[str, Any]]:
        """Return the records of all shards, parents before their children."""
        return [record for shard in self.shards() for record in self.records(shard)]

    def close(self) -> None:
        self.runner.run(self.database.close())
        self.runner.close()


def seen(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the event and the key of each record."""
    return [(record["eventName"], record["dynamodb"]["Keys"]["p"]["S"]) for record in records]
