"""What is throttled and consumed is what CloudWatch says, to the unit."""

from datetime import UTC, datetime

import pytest
from botocore.config import Config

from hashrange.testing import serve

BURST = 300


@pytest.fixture(scope="module")
def server():
    with serve(capacity="provisioned") as started:
        yield started


def total(server, metric, **dimensions):
    now = server.clock.now()
    answered = server.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        StartTime=datetime.fromtimestamp(now - 600, UTC),
        EndTime=datetime.fromtimestamp(now, UTC),
        Period=60,
        Statistics=["Sum"],
    )
    return sum(point["Sum"] for point in answered["Datapoints"])


def test_throttled_events_and_consumed_units_agree_with_the_answers(server):
    client = server.client(config=Config(retries={"total_max_attempts": 1}))
    client.create_table(
        TableName="Music",
        AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}],
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    )
    admitted = refused = 0
    for number in range(BURST + 10):
        try:
            client.put_item(TableName="Music", Item={"Artist": {"S": str(number)}})
            admitted += 1
        except client.exceptions.ProvisionedThroughputExceededException:
            refused += 1
    assert (admitted, refused) == (BURST, 10)
    server.clock.advance(2)
    puts = [{"PutRequest": {"Item": {"Artist": {"S": str(number)}}}} for number in range(5)]
    answered = client.batch_write_item(RequestItems={"Music": puts})
    assert len(answered["UnprocessedItems"]["Music"]) == 3
    server.clock.advance(120)
    assert total(server, "ConsumedWriteCapacityUnits", TableName="Music") == BURST + 2
    assert total(server, "WriteThrottleEvents", TableName="Music") == 10 + 3
    assert total(server, "ThrottledRequests", TableName="Music", Operation="PutItem") == 10
