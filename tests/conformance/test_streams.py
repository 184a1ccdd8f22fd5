"""DynamoDB Streams through boto3: settings of tables, reading, positions and refusals."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.conftest import CONFIG, SESSION, Refused, Tables

INVALID = "One or more parameter values were invalid: "
WORDING = "DynamoDB Local has its own wording"


@pytest.fixture(scope="module")
def streams(url: str) -> Iterator[Any]:
    """A boto3 client for streams."""
    found = SESSION.client("dynamodbstreams", endpoint_url=url, config=CONFIG)
    yield found
    found.close()


def specification(view_type: str | None = "NEW_AND_OLD_IMAGES") -> dict[str, Any]:
    if view_type is None:
        return {"StreamEnabled": False}
    return {"StreamEnabled": True, "StreamViewType": view_type}


def latest_arn(client: Any, table: str) -> str:
    return str(client.describe_table(TableName=table)["Table"]["LatestStreamArn"])


class Streamed:
    """A table with a stream, and what can be read of it."""

    def __init__(self, client: Any, streams: Any, tables: Tables, view_type: str) -> None:
        self.client = client
        self.streams = streams
        self.name = tables.create("p:S", StreamSpecification=specification(view_type))
        self.arn = latest_arn(client, self.name)

    def put(self, key: str, **attributes: Any) -> None:
        self.client.put_item(TableName=self.name, Item={"p": {"S": key}, **attributes})

    def delete(self, key: str) -> None:
        self.client.delete_item(TableName=self.name, Key={"p": {"S": key}})

    def update(self, key: str, expression: str, **values: Any) -> None:
        request = {"TableName": self.name, "Key": {"p": {"S": key}}}
        if values:
            request["ExpressionAttributeValues"] = {f":{name}": v for name, v in values.items()}
        self.client.update_item(UpdateExpression=expression, **request)

    def shards(self) -> list[dict[str, Any]]:
        found = self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]
        return list(found)

    def iterator(self, kind: str = "TRIM_HORIZON", **more: Any) -> str:
        """Return an iterator of the first shard that has records, or of the first one."""
        shards = [shard["ShardId"] for shard in self.shards()]
        used = [shard for shard in shards if self.read(self.shard_iterator(shard, "TRIM_HORIZON"))]
        return self.shard_iterator((used or shards)[0], kind, **more)

    def shard_iterator(self, shard: str, kind: str, **more: Any) -> str:
        answer = self.streams.get_shard_iterator(
            StreamArn=self.arn, ShardId=shard, ShardIteratorType=kind, **more
        )
        return str(answer["ShardIterator"])

    def records(self) -> list[dict[str, Any]]:
        """Return the records of all shards."""
        return [
            record
            for shard in self.shards()
            for record in self.read(self.shard_iterator(shard["ShardId"], "TRIM_HORIZON"))
        ]

    def read(self, iterator: str) -> list[dict[str, Any]]:
        """Return the records from an iterator on."""
        found: list[dict[str, Any]] = []
        at: str | None = iterator
        while at is not None:
            page = self.streams.get_records(ShardIterator=at)
            found.extend(page["Records"])
            at = page.get("NextShardIterator") if page["Records"] else None
        return found


@pytest.fixture
def streamed(client: Any, streams: Any, tables: Tables) -> Streamed:
    return Streamed(client, streams, tables, "NEW_AND_OLD_IMAGES")


def events(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(record["eventName"], record["dynamodb"]["Keys"]["p"]["S"]) for record in records]


def values(records: list[dict[str, Any]]) -> list[str]:
    return [record["dynamodb"]["NewImage"]["v"]["S"] for record in records]


def test_a_new_table_describes_its_stream(client: Any, streams: Any, tables: Tables) -> None:
    request = tables.request("p:S", "r:N", StreamSpecification=specification("OLD_IMAGE"))
    table = client.create_table(**request)["TableDescription"]
    assert table["StreamSpecification"] == specification("OLD_IMAGE")
    assert table["LatestStreamArn"] == f"{table['TableArn']}/stream/{table['LatestStreamLabel']}"
    stream = streams.describe_stream(StreamArn=table["LatestStreamArn"])["StreamDescription"]
    assert stream["StreamStatus"] in ("ENABLING", "ENABLED")
    assert stream["StreamViewType"] == "OLD_IMAGE"
    assert stream["TableName"] == request["TableName"]
    assert stream["KeySchema"] == request["KeySchema"]
    assert stream["StreamLabel"] == table["LatestStreamLabel"]
    assert stream["Shards"]
    for shard in stream["Shards"]:
        assert len(shard["ShardId"]) == 37
        assert "EndingSequenceNumber" not in shard["SequenceNumberRange"]


def test_a_table_without_a_stream_has_none(client: Any, tables: Tables) -> None:
    name = tables.create("p:S", StreamSpecification=specification(None))
    table = client.describe_table(TableName=name)["Table"]
    assert not {"StreamSpecification", "LatestStreamArn", "LatestStreamLabel"} & table.keys()


@pytest.mark.beyond_dynamodb_local(WORDING)
@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (
            {"StreamEnabled": True},
            INVALID + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"},
            INVALID + "Table is being created with a stream disabled, UpdateViewType should not "
            "be specified",
        ),
        (
            {"StreamViewType": "KEYS_ONLY"},
            "1 validation error detected: Value null at 'streamSpecification.streamEnabled' "
            "failed to satisfy constraint: Member must not be null",
        ),
        (
            {"StreamEnabled": True, "StreamViewType": "new_image"},
            "1 validation error detected: Value 'new_image' at "
            "'streamSpecification.streamViewType' failed to satisfy constraint: Member must "
            "satisfy enum value set: [OLD_IMAGE, KEYS_ONLY, NEW_AND_OLD_IMAGES, NEW_IMAGE]",
        ),
    ],
)
def test_a_table_with_half_a_stream_is_refused(
    client: Any, tables: Tables, refused: Refused, stream: dict[str, Any], message: str
) -> None:
    with refused("ValidationException", message):
        client.create_table(**tables.request("p:S", StreamSpecification=stream))


@pytest.mark.beyond_dynamodb_local(WORDING)
def test_a_stream_is_changed_by_disabling_and_enabling_it(
    client: Any, streamed: Streamed, refused: Refused
) -> None:
    name = streamed.name

    def update(stream: dict[str, Any]) -> None:
        client.update_table(TableName=name, StreamSpecification=stream)

    with refused("ValidationException", f"Table already has an enabled stream: TableName: {name}"):
        update(specification("KEYS_ONLY"))
    with refused(
        "ValidationException",
        INVALID + "If stream is being disabled, then UpdateViewType must not be specified",
    ):
        update({"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"})
    update(specification(None))
    with refused("ValidationException", f"Table has no stream to disable: TableName: {name}"):
        update(specification(None))
    with refused(
        "ValidationException",
        INVALID + "If stream is being enabled then UpdateViewType is required",
    ):
        update({"StreamEnabled": True})
    update(specification("KEYS_ONLY"))
    assert latest_arn(client, name) != streamed.arn


def test_changes_become_records(streamed: Streamed) -> None:
    streamed.put("k", a={"N": "1"})
    streamed.update("k", "SET a = :a", a={"N": "2"})
    streamed.delete("k")
    inserted, modified, removed = streamed.records()
    first, second = ({"p": {"S": "k"}, "a": {"N": number}} for number in "12")
    assert [r["eventName"] for r in (inserted, modified, removed)] == [
        "INSERT",
        "MODIFY",
        "REMOVE",
    ]
    assert inserted["dynamodb"]["NewImage"] == first
    assert "OldImage" not in inserted["dynamodb"]
    assert modified["dynamodb"]["OldImage"] == first
    assert modified["dynamodb"]["NewImage"] == second
    assert removed["dynamodb"]["OldImage"] == second
    assert "NewImage" not in removed["dynamodb"]
    for record in (inserted, modified, removed):
        assert record["eventSource"] == "aws:dynamodb"
        assert record["eventVersion"] == "1.1"
        assert record["dynamodb"]["Keys"] == {"p": {"S": "k"}}
        assert record["dynamodb"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
        assert "userIdentity" not in record
    assert [r["dynamodb"]["SizeBytes"] for r in (inserted, modified, removed)] == [7, 12, 7]


def test_values_of_all_types_are_in_the_images(streamed: Streamed) -> None:
    values: dict[str, Any] = {
        "s": {"S": '\u00e9\u0000"\U0001f600'},
        "n": {"N": "-1.5"},
        "b": {"B": b"\x00\xff"},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2"]},
        "bs": {"BS": [b"a", b"b"]},
        "m": {"M": {"x": {"NULL": True}, "y": {"L": []}}},
        "l": {"L": [{"BOOL": False}, {"M": {"z": {"S": ""}}}]},
    }
    streamed.put("k", **values)
    (record,) = streamed.records()
    image = record["dynamodb"]["NewImage"]
    for name in ("ss", "ns", "bs"):
        kind = name.upper()
        image[name][kind] = sorted(image[name][kind])
    assert image == {"p": {"S": "k"}, **values}


def test_what_changes_nothing_is_no_record(streamed: Streamed) -> None:
    streamed.put("k", s={"SS": ["a", "b"]}, n={"N": "1"})
    streamed.put("k", n={"N": "1.0"}, s={"SS": ["b", "a"]})
    streamed.update("k", "SET n = :n", n={"N": "1"})
    streamed.update("k", "REMOVE absent")
    streamed.update("absent", "REMOVE a")
    streamed.delete("absent")
    assert events(streamed.records()) == [("INSERT", "k")]


def test_an_update_of_an_absent_item_inserts_it(streamed: Streamed) -> None:
    streamed.client.update_item(TableName=streamed.name, Key={"p": {"S": "k"}})
    assert events(streamed.records()) == [("INSERT", "k")]


def test_batches_and_transactions_become_records(client: Any, streamed: Streamed) -> None:
    name = streamed.name
    puts = [{"PutRequest": {"Item": {"p": {"S": key}}}} for key in "ab"]
    client.batch_write_item(RequestItems={name: puts})
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": name, "Item": {"p": {"S": "c"}}}},
            {"Delete": {"TableName": name, "Key": {"p": {"S": "a"}}}},
        ]
    )
    assert sorted(events(streamed.records())) == [
        ("INSERT", "a"),
        ("INSERT", "b"),
        ("INSERT", "c"),
        ("REMOVE", "a"),
    ]


@pytest.mark.parametrize(
    ("view_type", "images"),
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_the_view_type_says_which_images_there_are(
    client: Any, streams: Any, tables: Tables, view_type: str, images: set[str]
) -> None:
    streamed = Streamed(client, streams, tables, view_type)
    streamed.put("k", a={"S": "1"})
    streamed.put("k", a={"S": "2"})
    modified = streamed.records()[1]["dynamodb"]
    assert {"NewImage", "OldImage"} & modified.keys() == images


def test_iterators_begin_where_they_are_told(streamed: Streamed) -> None:
    for value in "abc":
        streamed.put("k", v={"S": value})
    latest = streamed.iterator("LATEST")
    number = streamed.records()[1]["dynamodb"]["SequenceNumber"]
    at = streamed.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=number)
    after = streamed.iterator("AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
    streamed.put("k", v={"S": "d"})
    assert values(streamed.read(latest)) == ["d"]
    assert values(streamed.read(at)) == ["b", "c", "d"]
    assert values(streamed.read(after)) == ["c", "d"]


def test_records_come_in_pages(streamed: Streamed) -> None:
    for number in range(5):
        streamed.put("k", v={"S": f"{number}"})
    first = streamed.streams.get_records(ShardIterator=streamed.iterator(), Limit=3)
    assert len(first["Records"]) == 3
    rest = streamed.read(first["NextShardIterator"])
    assert values(first["Records"] + rest) == ["0", "1", "2", "3", "4"]


def test_a_disabled_stream_ends(client: Any, streamed: Streamed) -> None:
    streamed.put("k")
    iterator = streamed.iterator()
    client.update_table(TableName=streamed.name, StreamSpecification=specification(None))
    client.put_item(TableName=streamed.name, Item={"p": {"S": "unseen"}})
    page = streamed.streams.get_records(ShardIterator=iterator)
    assert events(page["Records"]) == [("INSERT", "k")]
    while "NextShardIterator" in page:
        page = streamed.streams.get_records(ShardIterator=page["NextShardIterator"])
    described = streamed.streams.describe_stream(StreamArn=streamed.arn)["StreamDescription"]
    assert described["StreamStatus"] in ("DISABLING", "DISABLED")
    for shard in described["Shards"]:
        assert "EndingSequenceNumber" in shard["SequenceNumberRange"]
    table = client.describe_table(TableName=streamed.name)["Table"]
    assert "StreamSpecification" not in table
    assert table["LatestStreamArn"] == streamed.arn


def test_streams_are_listed_by_table(streamed: Streamed) -> None:
    (listed,) = streamed.streams.list_streams(TableName=streamed.name)["Streams"]
    assert listed == {
        "StreamArn": streamed.arn,
        "TableName": streamed.name,
        "StreamLabel": streamed.arn.rpartition("/")[2],
    }
    assert streamed.streams.list_streams(TableName="no-such-table")["Streams"] == []


def test_streams_are_listed_in_pages(streams: Any, client: Any, tables: Tables) -> None:
    made = {Streamed(client, streams, tables, "KEYS_ONLY").arn for _ in range(3)}
    found: list[str] = []
    start: dict[str, str] = {}
    while True:
        page = streams.list_streams(Limit=1, **start)
        found.extend(stream["StreamArn"] for stream in page["Streams"])
        if "LastEvaluatedStreamArn" not in page:
            break
        start = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
    assert made <= set(found)
    assert len(found) == len(set(found))


def test_a_stream_that_is_not_there_is_not_found(streamed: Streamed, refused: Refused) -> None:
    absent = streamed.arn[:-4] + ".000"
    text = f"Requested resource not found: Stream: {absent} not found"
    with refused("ResourceNotFoundException", text):
        streamed.streams.describe_stream(StreamArn=absent)


@pytest.mark.beyond_dynamodb_local(WORDING)
def test_a_shard_that_is_not_there_is_not_found(streamed: Streamed, refused: Refused) -> None:
    with refused("ResourceNotFoundException", "Requested resource not found: Shard does not exist"):
        streamed.streams.get_shard_iterator(
            StreamArn=streamed.arn,
            ShardId="shardId-00000000000000000000-00000000",
            ShardIteratorType="LATEST",
        )


@pytest.mark.parametrize(
    ("kind", "number", "message"),
    [
        ("AT_SEQUENCE_NUMBER", None, INVALID + "Invalid SequenceNumber"),
        ("AFTER_SEQUENCE_NUMBER", None, INVALID + "Invalid SequenceNumber"),
        ("AT_SEQUENCE_NUMBER", "0" * 20 + "1", "Invalid SequenceNumber for the shard"),
        (
            "LATEST",
            "1" * 21,
            INVALID + "SequenceNumber should not be passed for this iterator type",
        ),
        (
            "AT_SEQUENCE_NUMBER",
            "1",
            "1 validation error detected: Value '1' at 'sequenceNumber' failed to satisfy "
            "constraint: Member must have length greater than or equal to 21",
        ),
    ],
)
def test_a_wrong_position_is_refused(
    streamed: Streamed, refused: Refused, kind: str, number: str | None, message: str
) -> None:
    streamed.put("k")
    more = {} if number is None else {"SequenceNumber": number}
    with refused("ValidationException", message):
        streamed.iterator(kind, **more)


def test_an_iterator_nobody_gave_out_is_refused(streams: Any, refused: Refused) -> None:
    with refused("ValidationException", "Invalid ShardIterator"):
        streams.get_records(ShardIterator="made-up")


def test_limits_have_bounds(streamed: Streamed, refused: Refused) -> None:
    with refused("ValidationException", INVALID + "Limit should be less than or equal to 1000"):
        streamed.streams.get_records(ShardIterator=streamed.iterator(), Limit=1001)
    with refused("ValidationException", INVALID + "Limit cannot be greater than the maximum: 100"):
        streamed.streams.describe_stream(StreamArn=streamed.arn, Limit=101)
    with refused(
        "ValidationException",
        INVALID + "Limit cannot be greater than the maximum allowed size: 100",
    ):
        streamed.streams.list_streams(Limit=101)
