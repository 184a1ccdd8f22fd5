"""Streams on a virtual clock: what is recorded, positions, ages, labels and refusals."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.storage.catalog import Delays
from tests.harness.streams import StreamedTable, seen

HOUR = 3600.0
TRIMMED = "TrimmedDataAccessException: The data you are trying to access has been trimmed"


@pytest.fixture
def table() -> Iterator[StreamedTable]:
    made = StreamedTable()
    yield made
    made.close()


def images(record: dict[str, Any]) -> tuple[Any, Any]:
    return record["dynamodb"].get("OldImage"), record["dynamodb"].get("NewImage")


def test_insert_modify_and_remove_are_recorded_with_their_images(table: StreamedTable) -> None:
    table.put("k", a="1")
    table.put("k", a="2")
    table.delete("k")
    one, two = ({"p": {"S": "k"}, "a": {"S": value}} for value in "12")
    records = table.all_records()
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    assert [images(record) for record in records] == [(None, one), (one, two), (two, None)]
    assert [record["dynamodb"]["SizeBytes"] for record in records] == [6, 10, 6]
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    assert numbers == sorted(set(numbers))
    assert all(len(number) >= 21 for number in numbers)
    assert len({record["eventID"] for record in records}) == 3
    assert records[0]["dynamodb"]["ApproximateCreationDateTime"] == 1_700_000_000


def test_a_record_is_the_same_however_often_it_is_read(table: StreamedTable) -> None:
    table.put("k")
    assert table.all_records() == table.all_records()


@pytest.mark.parametrize(
    ("view_type", "expected"),
    [
        ("KEYS_ONLY", (False, False)),
        ("NEW_IMAGE", (False, True)),
        ("OLD_IMAGE", (True, False)),
        ("NEW_AND_OLD_IMAGES", (True, True)),
    ],
)
def test_a_view_type_decides_about_images(view_type: str, expected: tuple[bool, bool]) -> None:
    table = StreamedTable(view_type)
    table.put("k", a="1")
    table.put("k", a="2")
    record = table.all_records()[1]
    assert tuple(image is not None for image in images(record)) == expected
    assert record["dynamodb"]["StreamViewType"] == view_type
    table.close()


def test_what_changes_nothing_is_not_recorded(table: StreamedTable) -> None:
    item = {"p": {"S": "k"}, "s": {"SS": ["a", "b"]}, "n": {"N": "10"}}
    same = {"n": {"N": "1e1"}, "s": {"SS": ["b", "a"]}, "p": {"S": "k"}}
    key = {"p": {"S": "k"}}
    table.call("PutItem", TableName="table", Item=item)
    table.call("PutItem", TableName="table", Item=same)
    table.call(
        "UpdateItem",
        TableName="table",
        Key=key,
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": "10"}},
    )
    table.call("UpdateItem", TableName="table", Key=key)
    table.delete("absent")
    table.call("UpdateItem", TableName="table", Key={"p": {"S": "new"}})
    assert seen(table.all_records()) == [("INSERT", "k"), ("INSERT", "new")]


def test_a_failed_condition_is_not_recorded(table: StreamedTable) -> None:
    request = {
        "TableName": "table",
        "Item": {"p": {"S": "k"}},
        "ConditionExpression": "attribute_exists(p)",
    }
    assert table.refusal("PutItem", **request).startswith("ConditionalCheckFailedException")
    put = {"Put": request}
    other = {"Put": {"TableName": "table", "Item": {"p": {"S": "other"}}}}
    refusal = table.refusal("TransactWriteItems", TransactItems=[other, put])
    assert refusal.startswith("TransactionCanceledException")
    assert table.all_records() == []


def test_batches_and_transactions_are_recorded_in_their_order(table: StreamedTable) -> None:
    puts = [{"PutRequest": {"Item": {"p": {"S": key}}}} for key in "abc"]
    table.call("BatchWriteItem", RequestItems={"table": puts})
    actions: list[dict[str, Any]] = [
        {"Delete": {"TableName": "table", "Key": {"p": {"S": "b"}}}},
        {"Put": {"TableName": "table", "Item": {"p": {"S": "d"}}}},
        {
            "ConditionCheck": {
                "TableName": "table",
                "Key": {"p": {"S": "c"}},
                "ConditionExpression": "attribute_exists(p)",
            }
        },
        {
            "Update": {
                "TableName": "table",
                "Key": {"p": {"S": "a"}},
                "UpdateExpression": "SET x = :x",
                "ExpressionAttributeValues": {":x": {"S": "1"}},
            }
        },
    ]
    for _ in range(2):  # the second time it is known by its token, and does nothing
        table.call("TransactWriteItems", TransactItems=actions, ClientRequestToken="token")
    inserts = [("INSERT", key) for key in "abc"]
    transacted = [("REMOVE", "b"), ("INSERT", "d"), ("MODIFY", "a")]
    assert seen(table.all_records()) == inserts + transacted


def test_an_expired_item_is_removed_by_the_service(table: StreamedTable) -> None:
    table.call(
        "UpdateTimeToLive",
        TableName="table",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"},
    )
    time = str(int(table.clock.now()) + 5)
    table.call("PutItem", TableName="table", Item={"p": {"S": "k"}, "t": {"N": time}})
    table.clock.advance(10)
    removed = table.all_records()[1]
    assert removed["eventName"] == "REMOVE"
    assert removed["userIdentity"] == {
        "PrincipalId": "dynamodb.amazonaws.com",
        "Type": "Service",
    }
    assert images(removed)[0]["t"] == {"N": time}
    table.put("k")
    table.delete("k")
    assert "userIdentity" not in table.all_records()[-1]


def test_latest_begins_after_the_newest_record(table: StreamedTable) -> None:
    table.put("before")
    (shard,) = table.shards()
    iterator = table.iterator(shard, "LATEST")
    table.put("after")
    assert [seen(page) for page in table.pages(iterator)] == [[("INSERT", "after")], []]


def test_sequence_numbers_are_positions(table: StreamedTable) -> None:
    for key in "abcd":
        table.put(key)
    (shard,) = table.shards()
    number = table.records(shard)[1]["dynamodb"]["SequenceNumber"]
    at = table.iterator(shard, "AT_SEQUENCE_NUMBER", SequenceNumber=number)
    after = table.iterator(shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
    assert [key for _, key in seen(next(table.pages(at)))] == ["b", "c", "d"]
    assert [key for _, key in seen(next(table.pages(after)))] == ["c", "d"]
    first = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    start = table.iterator(shard, "AT_SEQUENCE_NUMBER", SequenceNumber=first)
    assert len(next(table.pages(start))) == 4


def test_a_time_is_a_position(table: StreamedTable) -> None:
    start = table.clock.now()
    for key in "abcdefgh":
        table.put(key)
        table.clock.advance(10)
    (shard,) = table.shards()
    for seconds, left in ((0, 8), (5, 7), (10, 7), (65, 1), (80, 0)):
        iterator = table.iterator(shard, "AT_TIMESTAMP", Timestamp=start + seconds)
        assert len(next(table.pages(iterator))) == left
    refusal = table.refusal(
        "GetShardIterator",
        StreamArn=table.arn,
        ShardId=shard["ShardId"],
        ShardIteratorType="AT_TIMESTAMP",
        Timestamp=start + 1000,
    )
    assert refusal.startswith("ValidationException")


def test_pages_are_bounded_by_limit_count_and_size(table: StreamedTable) -> None:
    for number in range(5):
        table.put(f"{number}", data="x" * 300_000)
    (shard,) = table.shards()
    start = table.iterator(shard)
    assert [len(page) for page in table.pages(start, Limit=2)] == [2, 2, 1, 0]
    assert [len(page) for page in table.pages(start)] == [3, 2, 0]


def test_an_iterator_expires_after_fifteen_minutes(table: StreamedTable) -> None:
    table.put("k")
    (shard,) = table.shards()
    iterator = table.iterator(shard)
    table.clock.advance(900)
    assert len(next(table.pages(iterator))) == 1
    table.clock.advance(1)
    assert table.refusal("GetRecords", ShardIterator=iterator).startswith(
        "ExpiredIteratorException"
    )


def test_records_older_than_a_day_are_not_returned(table: StreamedTable) -> None:
    table.put("old")
    table.clock.advance(2 * HOUR)
    table.put("new")
    (shard,) = table.shards()
    old, new = (record["dynamodb"]["SequenceNumber"] for record in table.records(shard))
    table.clock.advance(22 * HOUR - 1)
    assert len(table.records(shard)) == 2
    latest = table.iterator(shard, "AT_SEQUENCE_NUMBER", SequenceNumber=old)
    table.clock.advance(1)
    assert seen(table.records(shard)) == [("INSERT", "new")]
    assert table.refusal("GetRecords", ShardIterator=latest) == TRIMMED
    refusal = table.refusal(
        "GetShardIterator",
        StreamArn=table.arn,
        ShardId=shard["ShardId"],
        ShardIteratorType="AT_SEQUENCE_NUMBER",
        SequenceNumber=old,
    )
    assert refusal == TRIMMED
    kept = table.iterator(shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=old)
    assert [record["dynamodb"]["SequenceNumber"] for record in next(table.pages(kept))] == [new]


def test_labels_change_when_a_stream_is_enabled_again(table: StreamedTable) -> None:
    first = table.arn
    table.put("a", x="1")
    table.set_stream(None)
    described = table.call("DescribeTable", TableName="table")["Table"]
    assert "StreamSpecification" not in described
    assert described["LatestStreamArn"] == first
    table.put("unseen")
    table.set_stream("KEYS_ONLY")  # at the very same time
    assert table.arn != first
    table.put("b")
    assert seen(table.all_records()) == [("INSERT", "b")]
    table.arn = first
    assert table.describe()["StreamStatus"] == "DISABLED"
    assert seen(table.all_records()) == [("INSERT", "a")]
    streams = table.call("ListStreams", TableName="table")["Streams"]
    assert len(streams) == 2
    described = table.call("DescribeTable", TableName="table")["Table"]
    assert described["StreamSpecification"] == {
        "StreamEnabled": True,
        "StreamViewType": "KEYS_ONLY",
    }
    assert described["LatestStreamArn"].endswith(described["LatestStreamLabel"])


def test_a_disabled_stream_can_be_read_for_a_day(table: StreamedTable) -> None:
    table.put("k")
    (shard,) = table.shards()
    table.set_stream(None)
    assert [len(page) for page in table.pages(table.iterator(shard))] == [1]
    table.clock.advance(24 * HOUR - 1)
    (closed,) = table.shards()
    assert "EndingSequenceNumber" in closed["SequenceNumberRange"]
    table.clock.advance(1)
    assert table.refusal("DescribeStream", StreamArn=table.arn) == (
        f"ResourceNotFoundException: Requested resource not found: Stream: {table.arn} not found"
    )
    assert table.call("ListStreams")["Streams"] == []


def test_a_stream_outlives_its_table(table: StreamedTable) -> None:
    table.put("k")
    first = table.arn
    table.call("DeleteTable", TableName="table")
    assert table.describe()["StreamStatus"] == "DISABLED"
    table.create(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    assert table.arn != first
    assert table.all_records() == []
    table.arn = first
    assert seen(table.all_records()) == [("INSERT", "k")]


def test_streams_have_passing_states_when_tables_have() -> None:
    table = StreamedTable(delays=Delays(5.0, 5.0, 5.0))
    assert table.describe()["StreamStatus"] == "ENABLING"
    table.clock.advance(5)
    assert table.describe()["StreamStatus"] == "ENABLED"
    table.set_stream(None)
    assert table.describe()["StreamStatus"] == "DISABLING"
    table.clock.advance(5)
    assert table.describe()["StreamStatus"] == "DISABLED"
    table.set_stream("KEYS_ONLY")
    assert table.describe()["StreamStatus"] == "ENABLING"
    table.clock.advance(5)
    table.call("DeleteTable", TableName="table")
    assert table.describe()["StreamStatus"] == "DISABLING"
    table.close()


def test_streams_are_listed_in_pages(table: StreamedTable) -> None:
    for _ in range(2):
        table.set_stream(None)
        table.clock.advance(1)
        table.set_stream("KEYS_ONLY")
    found: list[str] = []
    start: dict[str, str] = {}
    while True:
        page = table.call("ListStreams", Limit=2, **start)
        found.extend(stream["StreamArn"] for stream in page["Streams"])
        if "LastEvaluatedStreamArn" not in page:
            break
        start = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
    assert len(found) == 3
    assert table.arn == found[-1]
    assert table.call("ListStreams", TableName="other")["Streams"] == []


def test_enabling_and_disabling_twice_is_refused(table: StreamedTable) -> None:
    enabled = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    disabled = {"StreamEnabled": False}

    def refusal(specification: dict[str, Any], **more: Any) -> str:
        request = {"TableName": "table", "StreamSpecification": specification}
        return table.refusal("UpdateTable", **request, **more)

    assert refusal(enabled) == (
        "ValidationException: Table already has an enabled stream: TableName: table"
    )
    assert refusal({**disabled, "StreamViewType": "KEYS_ONLY"}) == (
        "ValidationException: One or more parameter values were invalid: If stream is being "
        "disabled, then UpdateViewType must not be specified"
    )
    table.set_stream(None)
    assert refusal(disabled) == (
        "ValidationException: Table has no stream to disable: TableName: table"
    )


def test_positions_outside_a_shard_are_refused(table: StreamedTable) -> None:
    table.put("k")
    (shard,) = table.shards()
    asked = {"StreamArn": table.arn, "ShardId": shard["ShardId"]}

    def refusal(kind: str, **more: Any) -> str:
        return table.refusal("GetShardIterator", ShardIteratorType=kind, **asked, **more)

    invalid = "ValidationException: One or more parameter values were invalid: "
    assert refusal("AT_SEQUENCE_NUMBER") == invalid + "Invalid SequenceNumber"
    assert refusal("AT_SEQUENCE_NUMBER", SequenceNumber="x" * 21) == (
        invalid + "Invalid SequenceNumber"
    )
    outside = "ValidationException: Invalid SequenceNumber for the shard"
    assert refusal("AT_SEQUENCE_NUMBER", SequenceNumber="0" * 21) == outside
    assert refusal("AFTER_SEQUENCE_NUMBER", SequenceNumber="9" * 40) == outside
    assert refusal("LATEST", SequenceNumber="1" * 21) == (
        invalid + "SequenceNumber should not be passed for this iterator type"
    )
    asked["ShardId"] = "shardId-00000000000000000000-00000000"
    assert refusal("LATEST") == (
        "ResourceNotFoundException: Requested resource not found: Shard does not exist"
    )


@pytest.mark.parametrize("change", ["x", "{0}x", "x{0}", "{0}|", "||", "{0[:-4]}AAAA", "é|1|é"])
def test_an_iterator_that_was_tampered_with_is_refused(table: StreamedTable, change: str) -> None:
    (shard,) = table.shards()
    iterator = table.iterator(shard)
    broken = iterator[:-8] + "AAAAAA==" if "[" in change else change.format(iterator)
    refusal = table.refusal("GetRecords", ShardIterator=broken)
    assert refusal == "ValidationException: Invalid ShardIterator"


def test_children_and_pages_of_shards_are_asked_for_separately(table: StreamedTable) -> None:
    (shard,) = table.shards()
    asked = {"Type": "CHILD_SHARDS", "ShardId": shard["ShardId"]}
    assert table.describe(ShardFilter=asked)["Shards"] == []
    refusal = table.refusal(
        "DescribeStream",
        StreamArn=table.arn,
        ShardFilter=asked,
        ExclusiveStartShardId=shard["ShardId"],
    )
    assert refusal.startswith("ValidationException: ShardFilter and ExclusiveStartShardId")


def test_a_filter_for_child_shards_needs_their_parent(table: StreamedTable) -> None:
    refusal = table.refusal(
        "DescribeStream", StreamArn=table.arn, ShardFilter={"Type": "CHILD_SHARDS"}
    )
    assert refusal == (
        "ValidationException: 1 validation error detected: Value null at 'shardFilter.shardId' "
        "failed to satisfy constraint: Member must not be null"
    )


def test_what_is_no_arn_of_a_stream_is_refused(table: StreamedTable) -> None:
    for arn in (
        table.arn.partition("/stream/")[0],
        table.arn.partition("/stream/")[0] + "/index/by-name",
        table.arn.replace("dynamodb", "kinesis"),
        table.arn + "x",
        "x" * 40,
    ):
        assert table.refusal("DescribeStream", StreamArn=arn) == (
            "ValidationException: Invalid StreamArn"
        )
        refusal = table.refusal(
            "GetShardIterator",
            StreamArn=arn,
            ShardId="shardId-00000000000000000000-00000000",
            ShardIteratorType="LATEST",
        )
        assert refusal == "ValidationException: Invalid StreamArn"
