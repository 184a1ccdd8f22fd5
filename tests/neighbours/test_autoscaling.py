"""boto3's client of Application Auto Scaling, on a server whose clock the test moves."""

import pytest
from botocore.exceptions import ClientError

from hashrange.testing import serve

TARGET = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/Music",
    "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
}


@pytest.fixture(scope="module")
def server():
    with serve() as started:
        client = started.client()
        client.create_table(
            TableName="Music",
            AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}],
            ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        )
        yield started


@pytest.fixture
def scaling(server):
    return server.client("application-autoscaling")


def refusal(call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    error = caught.value.response["Error"]
    return f"{error['Code']}: {error['Message']}"


def write_units(server):
    table = server.client().describe_table(TableName="Music")["Table"]
    return table["ProvisionedThroughput"]["WriteCapacityUnits"]


def test_a_target_is_registered_described_tagged_and_deregistered(server, scaling):
    arn = scaling.register_scalable_target(
        **TARGET, MinCapacity=10, MaxCapacity=20, Tags={"team": "a"}
    )["ScalableTargetARN"]
    server.clock.advance(1)
    assert write_units(server) == 10
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert target["ScalableTargetARN"] == arn
    assert target["RoleARN"].endswith("AWSServiceRoleForApplicationAutoScaling_DynamoDBTable")
    assert target["CreationTime"].timestamp() == pytest.approx(server.clock.now(), abs=5)
    scaling.tag_resource(ResourceARN=arn, Tags={"cost": "1"})
    scaling.untag_resource(ResourceARN=arn, TagKeys=["team"])
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"cost": "1"}
    activities = scaling.describe_scaling_activities(**TARGET)["ScalingActivities"]
    assert [each["StatusCode"] for each in activities] == ["Successful"]
    scaling.deregister_scalable_target(**TARGET)
    assert refusal(scaling.deregister_scalable_target, **TARGET) == (
        "ObjectNotFoundException: No scalable target registered for service namespace: dynamodb, "
        "resource ID: table/Music, scalable dimension: dynamodb:table:WriteCapacityUnits"
    )


def test_scheduled_actions_are_kept_described_in_pages_and_deleted(scaling):
    scaling.register_scalable_target(**TARGET, MinCapacity=1, MaxCapacity=20)
    for name in ("morning", "evening", "night"):
        scaling.put_scheduled_action(
            **TARGET,
            ScheduledActionName=name,
            Schedule="cron(0 8 * * ? *)",
            Timezone="Europe/Berlin",
            ScalableTargetAction={"MinCapacity": 2},
        )
    pages = scaling.get_paginator("describe_scheduled_actions").paginate(
        ServiceNamespace="dynamodb", PaginationConfig={"PageSize": 2}
    )
    found = [action["ScheduledActionName"] for page in pages for action in page["ScheduledActions"]]
    assert found == ["morning", "evening", "night"]
    scaling.delete_scheduled_action(**TARGET, ScheduledActionName="night")
    assert refusal(
        scaling.put_scheduled_action,
        **TARGET,
        ScheduledActionName="night",
        Schedule="daily",
        ScalableTargetAction={"MinCapacity": 2},
    ).startswith("ValidationException")
    assert refusal(
        scaling.delete_scheduled_action, **TARGET, ScheduledActionName="night"
    ).startswith("ObjectNotFoundException")
    scaling.deregister_scalable_target(**TARGET)
    assert scaling.describe_scheduled_actions(ServiceNamespace="dynamodb")["ScheduledActions"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"ServiceNamespace": "ecs"},
        {"ScalableDimension": "dynamodb:index:WriteCapacityUnits"},
        {"ResourceId": "table/Absent"},
        {"MinCapacity": 30},
        {"MinCapacity": 0},
    ],
    ids=str,
)
def test_a_target_that_cannot_be_scaled_is_refused(scaling, wrong):
    request = {**TARGET, "MinCapacity": 1, "MaxCapacity": 20, **wrong}
    assert refusal(scaling.register_scalable_target, **request).startswith("ValidationException")


def test_step_scaling_is_refused_as_dynamodb_does_not_support_it(scaling):
    scaling.register_scalable_target(**TARGET, MinCapacity=1, MaxCapacity=20)
    assert refusal(
        scaling.put_scaling_policy,
        **TARGET,
        PolicyName="p",
        PolicyType="StepScaling",
        StepScalingPolicyConfiguration={
            "AdjustmentType": "ChangeInCapacity",
            "StepAdjustments": [],
        },
    ).startswith("ValidationException")
    scaling.deregister_scalable_target(**TARGET)


def write_for_a_minute(server, units):
    """Consume write units within a minute of the clock, and let the minute pass."""
    client = server.client()
    for first in range(0, units, 25):
        puts = [
            {"PutRequest": {"Item": {"Artist": {"S": str(number)}}}}
            for number in range(first, first + 25)
        ]
        client.batch_write_item(RequestItems={"Music": puts})
    server.clock.advance(60)


def test_capacity_follows_the_metrics_of_consumption_and_alarms_show_it(server, scaling):
    server.clock.set(server.clock.now() // 60 * 60 + 86_401)
    scaling.register_scalable_target(**TARGET, MinCapacity=5, MaxCapacity=100)
    policy = scaling.put_scaling_policy(
        **TARGET,
        PolicyName="writes",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 70.0,
            "PredefinedMetricSpecification": {
                "PredefinedMetricType": "DynamoDBWriteCapacityUtilization"
            },
        },
    )
    server.clock.advance(1)
    before = write_units(server)
    for _ in range(3):
        write_for_a_minute(server, 600)
    server.clock.advance(15)
    # 10 units a second are 70 % of 15.
    assert before < 15
    assert write_units(server) == 15
    names = [alarm["AlarmName"] for alarm in policy["Alarms"]]
    alarms = server.client("cloudwatch").describe_alarms(AlarmNames=names)["MetricAlarms"]
    thresholds = {alarm["AlarmName"]: alarm["Threshold"] for alarm in alarms}
    assert thresholds[names[0]] == pytest.approx(0.7 * 15 * 60)
    history = server.client("cloudwatch").describe_alarm_history(
        AlarmName=names[0], HistoryItemType="Action"
    )["AlarmHistoryItems"]
    assert all("Successfully executed" in item["HistorySummary"] for item in history)
    for _ in range(17):
        server.clock.advance(60)
    assert write_units(server) == 5
    described = scaling.describe_scaling_activities(**TARGET)["ScalingActivities"]
    assert [each["Description"] for each in described[:2]] == [
        "Setting write capacity units to 5.",
        "Setting write capacity units to 15.",
    ]
    scaling.deregister_scalable_target(**TARGET)
    assert server.client("cloudwatch").describe_alarms(AlarmNames=names)["MetricAlarms"] == []
