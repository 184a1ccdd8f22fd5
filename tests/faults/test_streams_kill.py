"""A stream tells exactly what became of its table, however often the server is killed.

Writers of all kinds work on a few shared items while workers or the whole server are killed, and
shards are rolled over and split every moment. A consumer follows the stream as consumers do, with a
checkpoint per shard. In the end, what it saw is what the stream holds, without gap or repetition;
each record continues where the one before left its item; and replaying all of them from an empty
table gives the table.
"""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path
from typing import Any

from tests.faults.served import Connection, NoAnswerError, Served, check_file
from tests.harness.endpoint import Endpoint

ROUNDS = int(os.environ.get("HASHRANGE_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
WRITERS = 4
KEYS = 30
WRITES_MAX = 150  # between two kills
TABLE = "streamed"

# The server with shards that are rolled over every moment, and split when they had a few records.
_COMMAND = (
    "-c",
    "from hashrange.services import stream_keeper as streams;"
    "import hashrange.app.database;"
    "hashrange.app.database.STREAMS_IDLE_SECONDS = 0.05; streams.SHARD_SECONDS = 0.5;"
    "streams._WATCH_SECONDS = 0.2; streams._WATCHED_ROWS = 8; streams._BUSY_TIMES = 2;"
    "streams.SHARD_RECORDS_PER_SECOND_MAX = 20; streams.OPEN_SHARDS_MAX = 4;"
    "from hashrange.cli.main import main; main()",
)


class Writer(threading.Thread):
    """Writes at random until told to stop, whatever becomes of the server."""

    def __init__(self, port: int, seed: int, stopped: threading.Event) -> None:
        super().__init__(daemon=True)
        self._connection = Connection(port)
        self._dice = random.Random(seed)
        self._stopped = stopped
        self.answered = 0

    def run(self) -> None:
        while not self._stopped.is_set():
            operation, request = self._request()
            try:
                reply = self._connection.call(operation, request)
            except (NoAnswerError, ConnectionError):
                self._stopped.wait(0.01)
                continue
            assert reply.status < 500, reply.message
            self.answered += reply.status == 200
        self._connection.close()

    def _item(self) -> dict[str, Any]:
        filler = {"S": "x" * self._dice.randrange(3000)}
        return {**self._key(), "n": {"N": str(self._dice.randrange(3))}, "filler": filler}

    def _key(self) -> dict[str, Any]:
        return {"p": {"S": f"key{self._dice.randrange(KEYS)}"}}

    def _update(self) -> dict[str, Any]:
        return {
            "TableName": TABLE,
            "Key": self._key(),
            "UpdateExpression": "ADD n :one SET m = if_not_exists(m, :one)",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }

    def _request(self) -> tuple[str, dict[str, Any]]:
        kind = self._dice.randrange(5)
        if kind == 0:
            return "DeleteItem", {"TableName": TABLE, "Key": self._key()}
        if kind == 1:
            return "PutItem", {"TableName": TABLE, "Item": self._item()}
        if kind == 2:
            return "UpdateItem", self._update()
        items = {item["p"]["S"]: item for item in (self._item() for _ in range(4))}
        if kind == 3:
            puts = [{"PutRequest": {"Item": item}} for item in items.values()]
            return "BatchWriteItem", {"RequestItems": {TABLE: puts}}
        actions = [{"Put": {"TableName": TABLE, "Item": item}} for item in items.values()]
        return "TransactWriteItems", {"TransactItems": actions}


class Consumer:
    """Follows a stream: for each shard, the records seen so far."""

    def __init__(self, url: str, arn: str) -> None:
        self._url = url
        self._arn = arn
        self._ended: set[str] = set()
        self.records: dict[str, list[dict[str, Any]]] = {}
        self.shards: list[dict[str, Any]] = []

    def all_records(self) -> list[dict[str, Any]]:
        """Return what was seen, parents before their children."""
        return [record for shard in sorted(self.records) for record in self.records[shard]]

    def catch_up(self) -> None:
        """Read all that is new, continuing after the last record seen of each shard."""
        endpoint = Endpoint(self._url)
        self.shards = []
        start: dict[str, str] = {}
        while True:
            page = _call(endpoint, "DescribeStream", StreamArn=self._arn, Limit=10, **start)
            self.shards.extend(page["StreamDescription"]["Shards"])
            last = page["StreamDescription"].get("LastEvaluatedShardId")
            if last is None:
                break
            start = {"ExclusiveStartShardId": last}
        for shard in self.shards:
            if shard["ShardId"] not in self._ended:
                self._read(endpoint, shard["ShardId"])
        endpoint.close()

    def _read(self, endpoint: Endpoint, shard: str) -> None:
        seen = self.records.setdefault(shard, [])
        position = {"ShardIteratorType": "TRIM_HORIZON"}
        if seen:
            number = seen[-1]["dynamodb"]["SequenceNumber"]
            position = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number}
        answer = _call(endpoint, "GetShardIterator", StreamArn=self._arn, ShardId=shard, **position)
        iterator = answer["ShardIterator"]
        while iterator is not None:
            page = _call(endpoint, "GetRecords", ShardIterator=iterator, Limit=50)
            seen.extend(page["Records"])
            iterator = page.get("NextShardIterator")
            if iterator is None:
                self._ended.add(shard)
            elif not page["Records"]:
                return


def _call(endpoint: Endpoint, operation: str, **request: Any) -> dict[str, Any]:
    reply = endpoint.send(operation, json.dumps(request).encode(), "streams")
    assert reply.status == 200, f"{operation}: {reply.error}: {reply.message}"
    body: dict[str, Any] = reply.body
    return body


def replay(consumer: Consumer) -> dict[str, dict[str, Any]]:
    """Return the table that follows from the records, each of which must fit the one before."""
    items: dict[str, dict[str, Any]] = {}
    last: dict[str, str] = {}
    for record in consumer.all_records():
        body = record["dynamodb"]
        key = body["Keys"]["p"]["S"]
        old, new = body.get("OldImage"), body.get("NewImage")
        assert items.get(key) == old, f"a gap or a repetition before {record}"
        assert last.get(key, "") < body["SequenceNumber"]
        assert old != new
        expected = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        assert record["eventName"] == expected
        last[key] = body["SequenceNumber"]
        if new is None:
            del items[key]
        else:
            items[key] = new
    return items


def check_shards(shards: list[dict[str, Any]], records: dict[str, list[dict[str, Any]]]) -> None:
    """Check that records lie within the bounds of their shards, and children after parents."""
    by_id = {shard["ShardId"]: shard["SequenceNumberRange"] for shard in shards}
    for shard in shards:
        bounds = shard["SequenceNumberRange"]
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records[shard["ShardId"]]]
        assert numbers == sorted(set(numbers))
        ending = bounds.get("EndingSequenceNumber", "9" * 21)
        assert all(bounds["StartingSequenceNumber"] < number < ending for number in numbers)
        parent = shard.get("ParentShardId")
        if parent is not None:
            assert parent < shard["ShardId"]
            closed = by_id[parent]["EndingSequenceNumber"]
            assert closed < bounds["StartingSequenceNumber"]


def create(served: Served) -> str:
    connection = Connection(served.port)
    described = connection.result(
        "CreateTable",
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    connection.close()
    return str(described["TableDescription"]["LatestStreamArn"])


def write_and_kill(served: Served, dice: random.Random) -> None:
    """Have writers work on the server until it is killed in one of several ways."""
    stopped = threading.Event()
    writers = [Writer(served.port, dice.randrange(1 << 30), stopped) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for kill in (lambda: served.kill_worker(dice.choice(served.workers())), served.kill):
        wanted = sum(writer.answered for writer in writers) + dice.randrange(1, WRITES_MAX)
        while sum(writer.answered for writer in writers) < wanted:
            assert any(writer.is_alive() for writer in writers)
            stopped.wait(0.005)
        kill()
    stopped.set()
    for writer in writers:
        writer.join()


def test_replaying_the_stream_of_a_killed_server_gives_its_table(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    flags = ("--workers", "2", "--log-level", "error")
    served = Served(tmp_path / "data", *flags, command=_COMMAND)
    try:
        served.start()
        url = f"http://127.0.0.1:{served.port}"
        consumer = Consumer(url, create(served))
        for _ in range(ROUNDS):
            write_and_kill(served, dice)
            served.start()
            consumer.catch_up()
        afresh = Consumer(url, consumer._arn)
        afresh.catch_up()
        assert afresh.all_records() == consumer.all_records()
        check_shards(afresh.shards, afresh.records)
        connection = Connection(served.port)
        table = {item["p"]["S"]: item for item in connection.pages("Scan", TableName=TABLE)}
        connection.close()
        assert replay(afresh) == table
        assert served.stop() == 0
        check_file(served.directory)
    finally:
        served.close()
    count = len(consumer.all_records())
    text = f"\nseed {SEED}: {count} records in {len(consumer.records)} shards"
    print(text)  # noqa: T201 - shown by make faults
