"""The worker of automatic scaling, on tables of a database and made-up consumption."""

from datetime import UTC, datetime

import pytest

from hashrange.app.scaling import Scaling
from hashrange.neighbours.service import ServiceError
from tests.harness.calls import scope_in
from tests.harness.metered import Metered, global_index

WORLD = ("000000000000", "us-east-1")
TABLE = "table/table"
READS = "dynamodb:table:ReadCapacityUnits"
WRITES = "dynamodb:table:WriteCapacityUnits"


class Consumption:
    """Consumption as a test says: units a minute by metric and index."""

    def __init__(self):
        self.units = {}

    async def consumed(self, world, table, index, name, span):
        assert (world, table) == (WORLD, "table")
        minutes = (span[1] - span[0]) / 60
        return minutes * self.units.get((name, index), 0.0)


class Alarms:
    """Keeps definitions of alarms by name."""

    def __init__(self):
        self.kept = {}

    async def put(self, world, kind, definition):
        assert (world, kind) == (WORLD, "MetricAlarm")
        self.kept[definition["AlarmName"]] = definition

    async def delete(self, world, names):
        for name in names:
            self.kept.pop(name, None)


class Scaled:
    """A database with automatic scaling."""

    def __init__(self, database):
        self.database = database
        self.consumption, self.alarms = Consumption(), Alarms()
        scaling = Scaling(database.database, self.consumption, self.alarms)
        self.worker = scaling.worker
        self.handlers = scaling.service.handlers()

    def call(self, operation, **parameters):
        context = self.database.database._make_context(*WORLD)
        given = {"ServiceNamespace": "dynamodb", **parameters}
        return self.database.runner.run(self.handlers[operation](scope_in(context), given))

    def register(self, lowest=1, highest=1000, resource=TABLE, dimension=WRITES, **more):
        return self.call(
            "RegisterScalableTarget",
            ResourceId=resource,
            ScalableDimension=dimension,
            MinCapacity=lowest,
            MaxCapacity=highest,
            **more,
        )

    def follow(self, target=70.0, resource=TABLE, dimension=WRITES, name="p", **more):
        kind = "Read" if "Read" in dimension else "Write"
        metric = {"PredefinedMetricType": f"DynamoDB{kind}CapacityUtilization"}
        return self.call(
            "PutScalingPolicy",
            PolicyName=name,
            ResourceId=resource,
            ScalableDimension=dimension,
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": target,
                "PredefinedMetricSpecification": metric,
                **more,
            },
        )

    def step(self, seconds=0.0):
        """Let time pass, a minute at a time, and have the worker do what is due."""
        while True:
            passed = min(60.0, seconds)
            self.database.clock.advance(passed)
            self.database.runner.run(self.worker.step())
            seconds -= passed
            if seconds <= 0:
                return

    def units(self):
        described = self.database.call("DescribeTable", TableName="table")["Table"]
        throughput = described["ProvisionedThroughput"]
        return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]

    def activities(self):
        return self.call("DescribeScalingActivities")["ScalingActivities"]


@pytest.fixture(params=["memory", "cluster"])
def scaled(request):
    with Metered(engine=request.param) as database:
        database.create(10, 10, GlobalSecondaryIndexes=[global_index("by-g", "g", 10, 10)])
        yield Scaled(database)


def test_registering_a_target_brings_the_capacity_within_its_bounds(scaled):
    scaled.register(20, 50)
    scaled.step()
    assert scaled.units() == (10, 20)
    (activity,) = scaled.activities()
    assert activity["Description"] == "Setting write capacity units to 20."
    assert activity["StatusCode"] == "Successful"
    assert activity["Cause"].startswith("minimum capacity was set to 20")
    scaled.register(1, 5)
    scaled.step()
    assert scaled.units() == (10, 5)


def test_a_value_out_of_bounds_that_somebody_sets_later_is_left_alone(scaled):
    scaled.register(5, 50)
    scaled.step()
    scaled.database.call(
        "UpdateTable",
        TableName="table",
        ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": 2},
    )
    scaled.step(300)
    assert scaled.units() == (10, 2)


def test_a_policy_raises_and_lowers_the_capacity_with_consumption(scaled):
    scaled.register(5, 500)
    scaled.follow(70.0)
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 150 * 60.0
    scaled.step(180)
    assert scaled.units() == (10, 215)
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 14 * 60.0
    scaled.step(600)
    assert scaled.units() == (10, 215)
    scaled.step(600)
    assert scaled.units() == (10, 20)
    newest, oldest = scaled.activities()
    assert newest["Description"] == "Setting write capacity units to 20."
    assert "-AlarmLow-" in newest["Cause"]
    assert "-AlarmHigh-" in oldest["Cause"]
    assert oldest["Cause"].endswith("in state ALARM triggered policy p")


def test_a_policy_of_an_index_changes_the_index(scaled):
    resource, dimension = "table/table/index/by-g", "dynamodb:index:ReadCapacityUnits"
    scaled.register(5, 500, resource, dimension)
    scaled.follow(50.0, resource, dimension)
    scaled.consumption.units["ConsumedReadCapacityUnits", "by-g"] = 100 * 60.0
    scaled.step(120)
    described = scaled.database.call("DescribeTable", TableName="table")["Table"]
    throughput = described["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert throughput["ReadCapacityUnits"] == 200
    assert scaled.units() == (10, 10)


def test_alarms_are_made_follow_the_capacity_and_go_with_the_policy(scaled):
    scaled.register(5, 500)
    answered = scaled.follow(50.0)
    scaled.step(120)
    names = [alarm["AlarmName"] for alarm in answered["Alarms"]]
    assert sorted(scaled.alarms.kept) == sorted(names)
    high, low, *_ = (scaled.alarms.kept[name] for name in names)
    assert (high["Threshold"], low["Threshold"]) == (300.0, 180.0)
    assert high["AlarmActions"] == [answered["PolicyARN"]]
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 100 * 60.0
    scaled.step(120)
    assert scaled.alarms.kept[names[0]]["Threshold"] == 6000.0
    scaled.call("DeleteScalingPolicy", PolicyName="p", ResourceId=TABLE, ScalableDimension=WRITES)
    assert scaled.alarms.kept == {}


def test_a_suspended_target_is_not_scaled(scaled):
    scaled.register(5, 500, SuspendedState={"DynamicScalingOutSuspended": True})
    scaled.follow()
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 150 * 60.0
    scaled.step(300)
    assert scaled.units() == (10, 10)
    scaled.register(5, 500, SuspendedState={"DynamicScalingOutSuspended": False})
    scaled.step(120)
    assert scaled.units() == (10, 215)


def test_a_cool_down_delays_the_next_change(scaled):
    scaled.register(5, 500)
    scaled.follow(70.0, ScaleOutCooldown=600)
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 70 * 60.0
    scaled.step(120)
    assert scaled.units() == (10, 100)
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 140 * 60.0
    scaled.step(300)
    assert scaled.units() == (10, 100)
    scaled.step(600)
    assert scaled.units() == (10, 200)


def test_decreases_beyond_the_daily_limit_are_failed_activities(scaled):
    scaled.register(100, 100)
    scaled.step()
    for lower in (90, 80, 70, 60, 50):
        scaled.register(lower, lower)
        scaled.step(1)
    assert scaled.units() == (10, 60)
    newest = scaled.activities()[0]
    assert newest["StatusCode"] == "Failed"
    assert "decreases are limited" in newest["StatusMessage"]


def test_a_scheduled_action_sets_bounds_when_it_is_due(scaled):
    scaled.register(5, 500)
    now = scaled.database.clock.now()
    due = datetime.fromtimestamp(now + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    scaled.call(
        "PutScheduledAction",
        ScheduledActionName="evening",
        ResourceId=TABLE,
        ScalableDimension=WRITES,
        Schedule=f"at({due})",
        ScalableTargetAction={"MinCapacity": 40, "MaxCapacity": 80},
    )
    scaled.step(3500)
    assert scaled.units() == (10, 10)
    scaled.step(200)
    assert scaled.units() == (10, 40)
    (target,) = scaled.call("DescribeScalableTargets")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (40, 80)
    scaled.step(7200)
    assert scaled.units() == (10, 40)


def test_a_rate_repeats_until_its_end(scaled):
    scaled.register(1, 500)
    end = datetime.fromtimestamp(scaled.database.clock.now() + 7500, UTC)
    scaled.call(
        "PutScheduledAction",
        ScheduledActionName="hourly",
        ResourceId=TABLE,
        ScalableDimension=WRITES,
        Schedule="rate(1 hour)",
        EndTime=end,
        ScalableTargetAction={"MinCapacity": 40},
    )
    for expected in (40, 40, 3):
        scaled.step(3610)
        assert scaled.units()[1] == expected
        scaled.register(3, 3)
        scaled.step()
        scaled.register(3, 500)


def test_deregistering_takes_policy_schedules_and_alarms_and_deleting_the_table_does_not(scaled):
    scaled.register(5, 500)
    scaled.follow()
    scaled.step(120)
    scaled.database.call("DeleteTable", TableName="table")
    scaled.step(120)
    assert len(scaled.call("DescribeScalableTargets")["ScalableTargets"]) == 1
    scaled.call("DeregisterScalableTarget", ResourceId=TABLE, ScalableDimension=WRITES)
    assert scaled.call("DescribeScalableTargets")["ScalableTargets"] == []
    assert scaled.call("DescribeScalingPolicies")["ScalingPolicies"] == []
    assert scaled.alarms.kept == {}
    with pytest.raises(ServiceError) as caught:
        scaled.call("DeregisterScalableTarget", ResourceId=TABLE, ScalableDimension=WRITES)
    assert caught.value.code == "ObjectNotFoundException"


def test_another_policy_takes_the_place_of_the_first(scaled):
    scaled.register()
    scaled.follow(name="one")
    scaled.step(120)
    scaled.follow(name="two")
    scaled.step(120)
    (policy,) = scaled.call("DescribeScalingPolicies")["ScalingPolicies"]
    assert policy["PolicyName"] == "two"
    assert len(scaled.alarms.kept) == 4


def test_another_worker_goes_on_where_the_first_one_ended(scaled):
    scaled.register(5, 500)
    scaled.follow()
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 150 * 60.0
    other = Scaled(scaled.database)
    other.consumption = scaled.consumption
    other.worker._consumption = scaled.consumption
    other.step(120)
    assert scaled.units() == (10, 215)
    scaled.step()
    assert len(scaled.activities()) == 1


def test_an_alarm_that_goes_off_has_the_worker_look(scaled):
    scaled.register(5, 500)
    arn = scaled.follow()["PolicyARN"]
    scaled.consumption.units["ConsumedWriteCapacityUnits", None] = 150 * 60.0
    scaled.database.clock.advance(120)
    run = scaled.database.runner.run
    run(scaled.worker.on_alarm(WORLD, "arn:aws:autoscaling:unknown", {}))
    assert scaled.units() == (10, 10)
    run(scaled.worker.on_alarm(WORLD, arn, {}))
    assert scaled.units() == (10, 215)
