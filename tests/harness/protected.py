"""A table with point-in-time recovery, in a database of this process on a virtual clock."""

import asyncio
import json
from typing import Any

from hashrange.app import engines
from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.base import Engine
from hashrange.storage.catalog import Delays
from hashrange.wire.http.messages import HttpAnswer
from tests.harness.calls import json_request
from tests.harness.streams import Refused

KEYS: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "s", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "s", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
TABLE = "table"


class ProtectedTable:
    """Every call does first what is due by the clock."""

    def __init__(
        self,
        *,
        engine: Engine | None = None,
        delays: Delays | None = None,
        is_protected: bool = True,
        **settings: Any,
    ) -> None:
        self.runner = asyncio.Runner()
        self.clock = VirtualClock()
        self.database = Database(engine or vars(engines)["MemoryEngine"](), self.clock, delays)
        self.call("CreateTable", **{"TableName": TABLE} | KEYS | settings)
        if is_protected:
            self.clock.advance(10)
            self.protect()

    def call(self, operation: str, at: float | str | None = None, **request: Any) -> dict[str, Any]:
        """Carry out an operation, maybe at an earlier time."""
        body = json.dumps(request).encode()
        headers = {} if at is None else {"x_hashrange_at": str(at)}
        sent = json_request(f"DynamoDB_20120810.{operation}", body, **headers)

        async def run() -> HttpAnswer:
            await self.database.do_due_work()
            return await self.database.answer(sent)

        answered = self.runner.run(run())
        document: dict[str, Any] = json.loads(answered.body)
        if answered.status != 200:
            kind = document["__type"].partition("#")[2]
            text = document.get("message", document.get("Message", ""))
            raise Refused(f"{kind}: {text}")
        return document

    def refusal(self, operation: str, at: float | str | None = None, **request: Any) -> str:
        """Return "type: message" of the error an operation answers with."""
        try:
            self.call(operation, at, **request)
        except Refused as refusal:
            return str(refusal)
        raise AssertionError(f"{operation} was carried out")

    def protect(self, is_enabled: bool = True, days: int | None = None) -> dict[str, Any]:
        wanted: dict[str, Any] = {"PointInTimeRecoveryEnabled": is_enabled}
        if days is not None:
            wanted["RecoveryPeriodInDays"] = days
        answer = self.call(
            "UpdateContinuousBackups", TableName=TABLE, PointInTimeRecoverySpecification=wanted
        )
        description: dict[str, Any] = answer["ContinuousBackupsDescription"]
        return description

    def put(self, p: str, s: int, **attributes: str) -> None:
        item = key_of(p, s) | {name: {"S": value} for name, value in attributes.items()}
        self.call("PutItem", TableName=TABLE, Item=item)

    def delete(self, p: str, s: int) -> None:
        self.call("DeleteItem", TableName=TABLE, Key=key_of(p, s))

    def scan(self, at: float | str | None = None, table: str = TABLE, **more: Any) -> list[Any]:
        """Return all items in the order of the table, page by page."""
        found: list[Any] = []
        start: dict[str, Any] = {}
        while True:
            page = self.call("Scan", at, TableName=table, **more, **start)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def history_rows(self) -> int:
        """Return how many versions the history of the table has."""
        return self.runner.run(self._history_rows())

    async def _history_rows(self) -> int:
        record = await self.database.catalog.record("000000000000", "us-east-1", TABLE)
        count = 0
        for shard in range(record.shards):
            if record.recovery is None:
                break
            rows, _ = await self.database.engine.range(
                record.recovery.store,
                shard,
                b"",
                b"\xff" * 100,
                reverse=False,
                rows_max=1 << 30,
                bytes_max=1 << 40,
                consistency=1,
            )
            count += len(rows)
        return count

    def close(self) -> None:
        self.runner.run(self.database.close())
        self.runner.close()


def key_of(p: str, s: int) -> dict[str, Any]:
    return {"p": {"S": p}, "s": {"N": str(s)}}
