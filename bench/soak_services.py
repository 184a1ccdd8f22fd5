"""Work of the services beside a soak: items expire, a stream is read, an index is filled again.

One thread puts items with a time to live and reads the stream of their table; another adds an index
to the table and drops it, over and over. In a steady state as many items expire as are put, and
the stream tells of both.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any, Final, final

from bench.prepare import create_tables
from bench.servers import Server

_TABLE: Final = "soak_services"
_INDEX: Final = "groups"
_BATCHES_PER_SECOND: Final = 4
_BATCH: Final = 25
_LIFE_SECONDS: Final = 20
_PAUSE_SECONDS: Final = 0.25
_FILL_PAUSE_SECONDS: Final = 2.0

Json = dict[str, Any]


@final
class Services:
    """Two threads that keep the services of a server busy until they are stopped."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_over = threading.Event()
        self._failures: list[BaseException] = []
        self.puts = 0
        self.records = 0
        self.removals = 0
        self.fills = 0
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True)
            for work in (self._put_and_read, self._fill)
        ]

    def start(self) -> None:
        """Make the table and begin."""
        create_tables(self._server, [_definition()])
        specification = {"AttributeName": "expires", "Enabled": True}
        request = {"TableName": _TABLE, "TimeToLiveSpecification": specification}
        Client(self._server).call("UpdateTimeToLive", **request)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads; raises what went wrong in one of them."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self.check()

    def check(self) -> None:
        """Raise what went wrong in a thread."""
        if self._failures:
            raise RuntimeError("the work of the services failed") from self._failures[0]

    def _guarded(self, work: Any) -> None:
        try:
            work(Client(self._server))
        except BaseException as error:  # noqa: BLE001 - raised again by `check`
            self._failures.append(error)

    def _put_and_read(self, client: Client) -> None:
        reader = _StreamReader(client)
        while not self._is_over.wait(1 / _BATCHES_PER_SECOND):
            expires = str(int(time.time()) + _LIFE_SECONDS)
            puts = [_put(self.puts + number, expires) for number in range(_BATCH)]
            answer = client.call("BatchWriteItem", RequestItems={_TABLE: puts})
            self.puts += _BATCH - len(answer["UnprocessedItems"])
            for record in reader.read():
                self.records += 1
                self.removals += record["eventName"] == "REMOVE"

    def _fill(self, client: Client) -> None:
        """Add an index, wait until it is filled, drop it, and so on."""
        while not self._is_over.wait(_FILL_PAUSE_SECONDS):
            self._change_index(client, {"Create": _index()})
            while not self._is_over.wait(_PAUSE_SECONDS):
                if _index_states(client) == ["ACTIVE"]:
                    self.fills += 1
                    break
            self._change_index(client, {"Delete": {"IndexName": _INDEX}})
            while _index_states(client) and not self._is_over.wait(_PAUSE_SECONDS):
                pass

    def _change_index(self, client: Client, change: Json) -> None:
        attributes = _definition()["AttributeDefinitions"]
        attributes = [*attributes, {"AttributeName": "group", "AttributeType": "S"}]
        client.call(
            "UpdateTable",
            TableName=_TABLE,
            AttributeDefinitions=attributes,
            GlobalSecondaryIndexUpdates=[change],
        )


@final
class Client:
    """One connection to a server, for one thread."""

    def __init__(self, server: Server) -> None:
        self._signer = server.signer
        self._connection = http.client.HTTPConnection(server.host, timeout=60)

    def call(self, operation: str, **request: Any) -> Json:
        """Send a request of DynamoDB; a refusal is an error."""
        return self.send("DynamoDB_20120810", operation, request)

    def send(self, target: str, operation: str, request: Json) -> Json:
        """Send a request of the service with this target; a refusal is an error."""
        body = json.dumps(request).encode()
        headers = self._signer.headers(operation, body)
        headers["X-Amz-Target"] = f"{target}.{operation}"
        self._connection.request("POST", "/", body, headers)
        response = self._connection.getresponse()
        answer: Json = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{operation} answered {response.status}: {str(answer)[:300]}")
        return answer


@final
class _StreamReader:
    """Reads the stream of the table, new shards included."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._arn = client.call("DescribeTable", TableName=_TABLE)["Table"]["LatestStreamArn"]
        # The iterator of each shard; None once it is read to its end.
        self._iterators: dict[str, str | None] = {}

    def read(self) -> list[Json]:
        """Return the records that have come since."""
        described = self._send("DescribeStream", StreamArn=self._arn)["StreamDescription"]
        records: list[Json] = []
        for shard in described["Shards"]:
            name = shard["ShardId"]
            if name not in self._iterators:
                position = {"ShardId": name, "ShardIteratorType": "TRIM_HORIZON"}
                found = self._send("GetShardIterator", StreamArn=self._arn, **position)
                self._iterators[name] = found["ShardIterator"]
            iterator = self._iterators[name]
            if iterator is not None:
                page = self._send("GetRecords", ShardIterator=iterator)
                records += page["Records"]
                self._iterators[name] = page.get("NextShardIterator")
        return records

    def _send(self, operation: str, **request: Any) -> Json:
        return self._client.send("DynamoDBStreams_20120810", operation, request)


def _definition() -> Json:
    return {
        "TableName": _TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def _index() -> Json:
    return {
        "IndexName": _INDEX,
        "KeySchema": [
            {"AttributeName": "group", "KeyType": "HASH"},
            {"AttributeName": "id", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }


def _index_states(client: Client) -> list[str]:
    table = client.call("DescribeTable", TableName=_TABLE)["Table"]
    return [index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", [])]


def _put(number: int, expires: str) -> Json:
    item = {
        "id": {"S": f"item{number}"},
        "group": {"S": f"group{number % 7}"},
        "expires": {"N": expires},
        "text": {"S": "x" * 200},
    }
    return {"PutRequest": {"Item": item}}
