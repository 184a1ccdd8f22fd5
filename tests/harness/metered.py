"""A database whose tables have limits, on a virtual clock, called through its pipeline."""

import asyncio
import json
from typing import Any, Self

from hashrange.api.scope import RequestScope, Throttle
from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.storage.meters import Meters, Mode
from hashrange.wire.stages import Stages
from tests.harness.calls import answer
from tests.harness.engines import faulty_engine

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/table"
KEY = {"p": {"S": "a"}}


class ErrorAnswer(Exception):
    """An error answer; `document` is its body."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.kind = document["__type"].partition("#")[2]
        super().__init__(f"{self.kind}: {document.get('message') or document.get('Message')}")


class _Throttles:
    """A recorder that keeps what was throttled, request by request."""

    def __init__(self) -> None:
        self.seen: list[list[Throttle]] = []

    def record(self, scope: RequestScope) -> None:
        self.seen.append(list(scope.throttles))


class Metered:
    """A database on an engine ("memory" or "cluster") in a capacity mode."""

    def __init__(self, mode: Mode = "provisioned", engine: str = "memory") -> None:
        self.runner = asyncio.Runner()
        self.clock = VirtualClock()
        chosen: Engine = MemoryEngine() if engine == "memory" else faulty_engine()
        self.throttles = _Throttles()
        self.database = Database(
            chosen,
            self.clock,
            stages=Stages(recorders=[self.throttles]),
            meters=Meters(mode, self.clock),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.close()

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        """Carry out an operation; an error answer is raised."""
        body = json.dumps(request).encode()
        answered = self.runner.run(answer(self.database, operation, body))
        document: dict[str, Any] = json.loads(answered.body)
        if answered.status != 200:
            raise ErrorAnswer(document)
        return document

    def refusal(self, operation: str, **request: Any) -> dict[str, Any]:
        """Return the error document an operation answers with."""
        try:
            self.call(operation, **request)
        except ErrorAnswer as error:
            return error.document
        raise AssertionError(f"{operation} was carried out")

    def create(self, read: int = 0, write: int = 0, **settings: Any) -> None:
        """Make the table, provisioned if units are given, else on demand."""
        billing: dict[str, Any] = {"BillingMode": "PAY_PER_REQUEST"}
        if read:
            billing = {"ProvisionedThroughput": units(read, write)}
        names = ["p"]
        for index in settings.get("GlobalSecondaryIndexes", ()):
            names += [element["AttributeName"] for element in index["KeySchema"]]
        self.call(
            "CreateTable",
            TableName="table",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in dict.fromkeys(names)
            ],
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            **billing | settings,
        )

    def put(self, key: str = "a", **attributes: str) -> dict[str, Any]:
        item = {"p": {"S": key}} | {name: {"S": value} for name, value in attributes.items()}
        return self.call("PutItem", TableName="table", Item=item)

    def get(self, key: str = "a", **options: Any) -> dict[str, Any]:
        return self.call("GetItem", TableName="table", Key={"p": {"S": key}}, **options)

    def drain_writes(self, limit: int = 100_000) -> int:
        """Write until the table is throttled; return how many writes were admitted."""
        for number in range(limit):
            try:
                self.put()
            except ErrorAnswer:
                return number
        raise AssertionError("never throttled")

    def drain_reads(self, limit: int = 100_000) -> int:
        """Read until the table is throttled; return how many reads were admitted."""
        for number in range(limit):
            try:
                self.get()
            except ErrorAnswer:
                return number
        raise AssertionError("never throttled")


def units(read: int, write: int) -> dict[str, int]:
    """Return a ProvisionedThroughput."""
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def global_index(name: str, attribute: str, read: int = 0, write: int = 0) -> dict[str, Any]:
    """Return the definition of a global index, provisioned if units are given."""
    index: dict[str, Any] = {
        "IndexName": name,
        "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    if read:
        index["ProvisionedThroughput"] = units(read, write)
    return index
