"""The metrics of functions and mappings, through CloudWatch."""

from datetime import UTC, datetime, timedelta

from tests.triggers.conftest import eventually


def total(site, name, dimension, value):
    now = datetime.now(UTC)
    points = site.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/Lambda",
        MetricName=name,
        Dimensions=[{"Name": dimension, "Value": value}],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(minutes=5),
        Period=60,
        Statistics=["Sum", "SampleCount"],
    )["Datapoints"]
    return sum(point["Sum"] for point in points), sum(point["SampleCount"] for point in points)


def test_cloudwatch_tells_how_functions_fare(site):
    site.register("measured", Kind="command", Target="cat")
    made = site.triggers.create_event_source_mapping(
        EventSourceArn=site.create_table("measured"),
        FunctionName="measured",
        StartingPosition="TRIM_HORIZON",
        BatchSize=1,
        MetricsConfig={"Metrics": ["EventCount"]},
    )
    for number in range(3):
        site.dynamodb.put_item(TableName="measured", Item={"id": {"S": str(number)}})
    name = ("FunctionName", "measured")
    eventually(lambda: total(site, "Invocations", *name) == (3, 3))
    assert total(site, "Errors", *name) == (0, 3)
    assert total(site, "Duration", *name)[1] == 3
    assert total(site, "IteratorAge", *name)[1] == 3
    uuid = ("EventSourceMappingUUID", made["UUID"])
    eventually(lambda: total(site, "InvokedEventCount", *uuid)[0] == 3)
    assert total(site, "PolledEventCount", *uuid)[0] == 3
