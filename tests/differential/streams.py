"""Streams of the same table on two servers: a request adds the same records to both."""

import json
from decimal import Decimal
from random import Random
from typing import Any

from tests.differential.comparison import canonical, first_difference
from tests.differential.tables import Table
from tests.harness.endpoint import Endpoint

VIEW_TYPES = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")
# What a server is free to choose.
VOLATILE = frozenset(("ApproximateCreationDateTime", "SequenceNumber"))


def draw_specification(random: Random) -> dict[str, Any]:
    """Return a StreamSpecification, most often with both images."""
    view_type = random.choice((*VIEW_TYPES, "NEW_AND_OLD_IMAGES", "NEW_AND_OLD_IMAGES"))
    return {"StreamEnabled": True, "StreamViewType": view_type}


class Follower:
    """Reads the streams of one server, each record once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._iterators: dict[str, dict[str, str | None]] = {}  # by table and shard

    def new_records(self, table: Table) -> dict[str, list[Any]]:
        """Return what must be the same of the records of each item since the last call."""
        iterators = self._iterators.setdefault(table.name, {})
        if not any(iterators.values()):
            self._find_shards(table, iterators)
        found: dict[str, list[Any]] = {}
        for shard, iterator in iterators.items():
            while iterator is not None:
                page = self._call("GetRecords", ShardIterator=iterator)
                iterator = iterators[shard] = page.get("NextShardIterator")
                for record in page["Records"]:
                    body = comparable(record)
                    found.setdefault(json.dumps(body["Keys"]), []).append(body)
                if not page["Records"]:
                    break
        return found

    def _find_shards(self, table: Table, iterators: dict[str, str | None]) -> None:
        described = self._endpoint.call("DescribeTable", {"TableName": table.name}).body
        arn = described["Table"]["LatestStreamArn"]
        described = self._call("DescribeStream", StreamArn=arn)["StreamDescription"]
        for shard in described["Shards"]:
            if shard["ShardId"] not in iterators:
                answer = self._call(
                    "GetShardIterator",
                    StreamArn=arn,
                    ShardId=shard["ShardId"],
                    ShardIteratorType="TRIM_HORIZON",
                )
                iterators[shard["ShardId"]] = answer["ShardIterator"]

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        reply = self._endpoint.send(operation, json.dumps(request).encode(), "streams")
        if reply.status != 200:
            where = f"{self._endpoint.url} refuses {operation}"
            raise RuntimeError(f"{where}: {reply.error}: {reply.message}")
        body: dict[str, Any] = reply.body
        return body


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """Return that part of a record which must agree."""
    body = {
        name: canonical(_repaired(value)) if isinstance(value, dict) else value
        for name, value in record["dynamodb"].items()
        if name not in VOLATILE
    }
    return {"eventName": record["eventName"], **body}


def _repaired(item: dict[str, Any]) -> dict[str, Any]:
    """Return an image as AWS has it.

    DynamoDB Local leaves empty maps out of its records, and numbers in them as they were sent.
    """
    return {name: _repaired_value(value) for name, value in item.items()}


def _repaired_value(value: dict[str, Any]) -> dict[str, Any]:
    if not value:
        return {"M": {}}
    ((kind, content),) = value.items()
    if kind == "M":
        return {"M": _repaired(content)}
    if kind == "L":
        return {"L": [_repaired_value(member) for member in content]}
    if kind == "N":
        return {"N": _number(content)}
    if kind == "NS":
        return {"NS": [_number(member) for member in content]}
    return value


def _number(text: str) -> str:
    number = Decimal(text)
    return f"{number.normalize():f}" if number else "0"


def stream_difference(local: Follower, ours: Follower, tables: list[Table]) -> str | None:
    """Return the first difference between what was added to the streams of tables."""
    sentence = None
    for table in tables:
        theirs, mine = local.new_records(table), ours.new_records(table)
        for key in {**theirs, **mine}:
            difference = first_difference(theirs.get(key, []), mine.get(key, []), "Stream")
            sentence = sentence or difference
    return sentence
