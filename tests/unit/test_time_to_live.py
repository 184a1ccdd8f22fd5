"""Time to live as an application's tests meet it: boto3 and a clock that they move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange import testing
from tests.harness.engines import memory_plays

NAME = "Sessions"


class Sessions:
    """A table whose items expire, on a database with a clock of its own."""

    def __init__(self, database: Any) -> None:
        self.clock = database.clock
        self.client = database.client()
        self.streams = database.client("dynamodbstreams")
        attributes = ("user", "id", "device")
        self.client.create_table(
            TableName=NAME,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=_keys("user", "id"),
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in attributes
            ],
            LocalSecondaryIndexes=[_index("local", "user", "device")],
            GlobalSecondaryIndexes=[_index("devices", "device")],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.set_time_to_live(enabled=True)

    def set_time_to_live(self, *, enabled: bool) -> None:
        specification = {"AttributeName": "expires", "Enabled": enabled}
        self.client.update_time_to_live(TableName=NAME, TimeToLiveSpecification=specification)

    def status(self) -> str:
        answer = self.client.describe_time_to_live(TableName=NAME)
        return str(answer["TimeToLiveDescription"]["TimeToLiveStatus"])

    def item(self, id: str, expires: Any) -> dict[str, Any]:
        value = expires if isinstance(expires, dict) else {"N": str(expires)}
        return {**self.key(id), "device": {"S": "phone"}, "expires": value}

    def key(self, id: str) -> dict[str, Any]:
        return {"user": {"S": "u"}, "id": {"S": id}}

    def in_seconds(self, seconds: int) -> int:
        return int(self.clock.now()) + seconds

    def put(self, id: str, expires: Any) -> None:
        self.client.put_item(TableName=NAME, Item=self.item(id, expires))

    def ids(self, index: str | None = None) -> list[str]:
        options = {} if index is None else {"IndexName": index}
        items = self.client.scan(TableName=NAME, **options)["Items"]
        return sorted(item["id"]["S"] for item in items)

    def everywhere(self) -> list[str]:
        """Return the ids in the table, having checked that the indexes have the same."""
        ids = self.ids()
        assert self.ids("local") == self.ids("devices") == ids
        assert self.client.describe_table(TableName=NAME)["Table"]["ItemCount"] == len(ids)
        return ids

    def records(self) -> list[dict[str, Any]]:
        stream = self.client.describe_table(TableName=NAME)["Table"]["LatestStreamArn"]
        described = self.streams.describe_stream(StreamArn=stream)["StreamDescription"]
        found: list[dict[str, Any]] = []
        for shard in described["Shards"]:
            iterator = self.streams.get_shard_iterator(
                StreamArn=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            found += self.streams.get_records(ShardIterator=iterator)["Records"]
        return found


def _keys(*names: str) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds, strict=False)
    ]


def _index(name: str, *keys: str) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": _keys(*keys),
        "Projection": {"ProjectionType": "ALL"},
    }


@pytest.fixture(params=["memory", "cluster"])
def engine(request: pytest.FixtureRequest) -> Iterator[None]:
    # One shard, since tests look for the order of changes.
    with memory_plays(request.param, shards=1):
        yield


@pytest.fixture(params=["local", "serve"])
def sessions(request: pytest.FixtureRequest, engine: None) -> Iterator[Sessions]:
    with getattr(testing, request.param)() as database:
        yield Sessions(database)


def test_an_item_goes_from_table_and_indexes_when_the_clock_passes_its_time(
    sessions: Sessions,
) -> None:
    sessions.put("short", sessions.in_seconds(60))
    sessions.put("long", sessions.in_seconds(3600))
    sessions.clock.advance(30)
    assert sessions.everywhere() == ["long", "short"]
    sessions.clock.advance(31)
    assert sessions.everywhere() == ["long"]
    sessions.clock.advance(3600)
    assert sessions.everywhere() == []


def test_an_item_renewed_in_time_stays(sessions: Sessions) -> None:
    for id in ("put", "update", "remove", "transact", "batch", "late"):
        sessions.put(id, sessions.in_seconds(60))
    client, later = sessions.client, sessions.in_seconds(3600)
    sessions.put("put", later)
    client.update_item(
        TableName=NAME,
        Key=sessions.key("update"),
        UpdateExpression="SET expires = :later",
        ExpressionAttributeValues={":later": {"N": str(later)}},
    )
    client.update_item(
        TableName=NAME, Key=sessions.key("remove"), UpdateExpression="REMOVE expires"
    )
    client.transact_write_items(
        TransactItems=[{"Put": {"TableName": NAME, "Item": sessions.item("transact", later)}}]
    )
    client.batch_write_item(
        RequestItems={NAME: [{"PutRequest": {"Item": sessions.item("batch", later)}}]}
    )
    sessions.clock.advance(61)
    assert sessions.everywhere() == ["batch", "put", "remove", "transact", "update"]


def test_type_mistakes_do_as_aws_documents(sessions: Sessions) -> None:
    past = sessions.in_seconds(-60)
    sessions.put("number", past)
    sessions.put("string", {"S": str(past)})
    sessions.put("milliseconds", past * 1000)
    sessions.put("list", {"L": [{"N": str(past)}]})
    sessions.put("six years ago", sessions.in_seconds(-6 * 366 * 86400))
    sessions.put("negative", -1)
    sessions.clock.advance(2)
    assert sessions.everywhere() == ["list", "milliseconds", "negative", "six years ago", "string"]


def test_an_expired_item_is_there_until_it_is_deleted() -> None:
    with testing.local() as database:
        sessions = Sessions(database)
        sessions.put("expired", sessions.in_seconds(-60))
        assert sessions.everywhere() == ["expired"]
        sessions.clock.advance(1)
        assert sessions.everywhere() == []


def test_nothing_goes_while_it_is_off(sessions: Sessions) -> None:
    sessions.put("expired", sessions.in_seconds(60))
    sessions.set_time_to_live(enabled=False)
    sessions.clock.advance(61)
    assert sessions.everywhere() == ["expired"]
    sessions.set_time_to_live(enabled=True)
    sessions.clock.advance(1)
    assert sessions.status() == "ENABLED"
    assert sessions.everywhere() == []


def test_the_stream_tells_who_deleted_the_item(sessions: Sessions) -> None:
    sessions.put("expired", sessions.in_seconds(60))
    sessions.put("deleted", sessions.in_seconds(60))
    sessions.client.delete_item(TableName=NAME, Key=sessions.key("deleted"))
    sessions.clock.advance(61)
    removed = [record for record in sessions.records() if record["eventName"] == "REMOVE"]
    by_user, by_service = removed
    assert by_user["dynamodb"]["Keys"] == sessions.key("deleted")
    assert "userIdentity" not in by_user
    assert by_service["dynamodb"]["Keys"] == sessions.key("expired")
    assert by_service["dynamodb"]["OldImage"]["device"] == {"S": "phone"}
    assert "NewImage" not in by_service["dynamodb"]
    assert by_service["userIdentity"] == {
        "Type": "Service",
        "PrincipalId": "dynamodb.amazonaws.com",
    }
