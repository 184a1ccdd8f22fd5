"""Delivery from streams to functions: order, positions, restarts, lineage, reports."""

import asyncio
import json

from hashrange.limits import SHARD_SECONDS
from hashrange.model.triggers import FunctionRecord, MappingRecord
from hashrange.services.triggers.lanes import Outcome
from tests.unit.services.triggers.conftest import WORLD, eventually, settle

BAD = Outcome(error="no")


def test_a_function_gets_records_as_lambda_delivers_them(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            await world.put("a", 1, colour={"S": "red"})
            await world.put("a", 1, colour={"S": "blue"})
            await world.map()
            await eventually(lambda: len(world.target().seen) == 2)

    asyncio.run(scenario())
    first, second = (record for event in world.target().events for record in event["Records"])
    assert first["eventName"] == "INSERT"
    assert first["eventVersion"] == "1.1"
    assert first["eventSource"] == "aws:dynamodb"
    assert first["awsRegion"] == "us-east-1"
    assert first["eventSourceARN"] == world.stream_arn
    assert set(first["dynamodb"]) == {
        "ApproximateCreationDateTime",
        "Keys",
        "NewImage",
        "SequenceNumber",
        "SizeBytes",
        "StreamViewType",
    }
    assert second["eventName"] == "MODIFY"
    assert second["dynamodb"]["OldImage"]["colour"] == {"S": "red"}
    assert second["dynamodb"]["NewImage"]["colour"] == {"S": "blue"}
    assert second["eventID"] != first["eventID"]


def test_expired_items_carry_the_identity_of_the_service(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            setting = {"AttributeName": "ttl", "Enabled": True}
            await world.call(
                "UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=setting
            )
            await world.put("a", 1, ttl={"N": str(int(world.clock.now()) + 10)})
            pattern = {"userIdentity": {"type": ["Service"]}, "eventName": ["REMOVE"]}
            await world.map(FilterCriteria={"Filters": [{"Pattern": json.dumps(pattern)}]})
            world.clock.advance(60)
            await eventually(lambda: world.target().seen)

    asyncio.run(scenario())
    (event,) = world.target().events
    identity = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert event["Records"][0]["userIdentity"] == identity


def test_trim_horizon_begins_with_the_oldest_record_and_latest_with_the_next(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            await world.put("a", 1, 2)
            await world.map("all", "TRIM_HORIZON")
            await world.map("new", "LATEST")
            await world.put("a", 3)
            await eventually(lambda: len(world.target("all").seen) == 3)
            await eventually(lambda: len(world.target("new").seen) == 1)

    asyncio.run(scenario())
    assert world.target("all").seen == ["a/1", "a/2", "a/3"]
    assert world.target("new").seen == ["a/3"]


def test_a_restart_goes_on_where_the_last_run_ended(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            await world.map("f", "LATEST")
            await world.put("a", *range(20))
            await eventually(lambda: len(world.target().seen) == 20)
        await world.put("a", *range(20, 30))
        async with world.running():
            await eventually(lambda: len(world.target().seen) >= 30)
            await settle()

    asyncio.run(scenario())
    assert world.target().seen == [f"a/{number}" for number in range(30)]


def test_latest_is_where_the_mapping_was_made_also_after_a_restart(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            await world.put("a", 1)
            world.target().behaviour = lambda keys: BAD
            await world.map("f", "LATEST")
        await world.put("a", 2)
        world.target().behaviour = lambda keys: Outcome()
        async with world.running():
            await eventually(lambda: world.target().seen)

    asyncio.run(scenario())
    assert world.target().seen == ["a/2"]


def test_what_was_not_finished_is_delivered_again_after_a_restart(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD if "a/2" in keys else Outcome()
        async with world.running():
            await world.create_table()
            await world.map(BatchSize=1)
            await world.put("a", 1, 2, 3)
            await eventually(lambda: "a/2" in world.target().seen)
        world.target().events.clear()
        world.target().behaviour = lambda keys: Outcome()
        async with world.running():
            await eventually(lambda: len(world.target().seen) == 2)

    asyncio.run(scenario())
    assert world.target().calls == [["a/2"], ["a/3"]]


def test_with_several_lanes_each_partition_keeps_its_order_and_none_waits_for_another(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD if "stuck/0" in keys else Outcome()
        partitions = [f"p{number}" for number in range(30)]
        async with world.running():
            await world.create_table()
            await world.map(BatchSize=2, ParallelizationFactor=10)
            await world.put("stuck", 0)
            for number in range(3):
                for partition in partitions:
                    await world.put(partition, number)
            # One lane in ten is blocked by its first batch.
            await eventually(lambda: len(set(world.target().seen)) > 60)
            await settle()
            seen = world.target().seen
            world.target().behaviour = lambda keys: Outcome()
            world.clock.advance(120)
            await eventually(lambda: len(set(world.target().seen)) == 91)
        for partition in partitions:
            numbers = [key for key in world.target().seen if key.startswith(partition + "/")]
            assert list(dict.fromkeys(numbers)) == [f"{partition}/{n}" for n in range(3)]
        assert len(set(seen)) < 91

    asyncio.run(scenario())


def test_lanes_go_on_from_their_own_positions_after_a_restart(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD if "stuck/0" in keys else Outcome()
        async with world.running():
            await world.create_table()
            await world.map(BatchSize=1, ParallelizationFactor=10)
            await world.put("stuck", 0)
            for number in range(40):
                await world.put(f"p{number}", 0)
            await eventually(lambda: len(set(world.target().seen)) > 25)
            await settle()
        finished = set(world.target().seen) - {"stuck/0"}
        world.target().events.clear()
        world.target().behaviour = lambda keys: Outcome()
        async with world.running():
            await eventually(lambda: len(world.target().seen) == 41 - len(finished))
            await settle()
        assert not finished & set(world.target().seen)

    asyncio.run(scenario())


def test_another_number_of_lanes_loses_nothing(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD if "stuck/0" in keys else Outcome()
        async with world.running():
            await world.create_table()
            uuid = await world.map(BatchSize=1, ParallelizationFactor=4)
            await world.put("stuck", 0)
            for number in range(20):
                await world.put(f"p{number}", 0)
            await eventually(lambda: len(set(world.target().seen)) > 5)
            world.target().behaviour = lambda keys: Outcome()
            await world.update(uuid, ParallelizationFactor=3)
            await eventually(lambda: len(set(world.target().seen)) == 21)

    asyncio.run(scenario())


def test_a_child_shard_waits_for_its_parent(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD if "a/1" in keys else Outcome()
        async with world.running():
            await world.create_table()
            await world.map(BatchSize=1)
            await world.put("a", 1)
            for number in (2, 3):
                world.clock.advance(SHARD_SECONDS)
                await world.database.do_due_work()
                await world.put("a", number)
            described = await world.call("DescribeStream", StreamArn=world.stream_arn)
            assert len(described["StreamDescription"]["Shards"]) == 3
            await settle()
            assert set(world.target().seen) == {"a/1"}
            world.target().behaviour = lambda keys: Outcome()
            world.clock.advance(120)
            await eventually(lambda: "a/3" in world.target().seen)
        seen = list(dict.fromkeys(world.target().seen))
        assert seen == ["a/1", "a/2", "a/3"]
        # A shard that was delivered is not begun again.
        world.target().events.clear()
        async with world.running():
            await world.put("a", 4)
            await eventually(lambda: world.target().seen)
        assert world.target().seen == ["a/4"]

    asyncio.run(scenario())


def test_a_disabled_mapping_goes_on_from_its_position_when_it_is_enabled(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            uuid = await world.map()
            await world.put("a", 1)
            await eventually(lambda: world.target().seen == ["a/1"])
            assert (await world.update(uuid, Enabled=False))["State"] == "Disabling"
            await settle(5)
            await world.put("a", 2)
            await settle()
            assert world.target().seen == ["a/1"]
            assert (await world.update(uuid, Enabled=True))["State"] == "Enabling"
            await eventually(lambda: world.target().seen == ["a/1", "a/2"])

    asyncio.run(scenario())


def test_filters_let_through_what_one_of_them_matches(world):
    async def scenario():
        patterns = [
            {"dynamodb": {"NewImage": {"kind": {"S": ["order"]}}}},
            {"eventName": ["REMOVE"]},
        ]
        filters = [{"Pattern": json.dumps(pattern)} for pattern in patterns]
        async with world.running():
            await world.create_table()
            await world.map(FilterCriteria={"Filters": filters})
            await world.put("a", 1, kind={"S": "order"})
            await world.put("a", 2, kind={"S": "note"})
            key = {"p": {"S": "a"}, "s": {"N": "2"}}
            await world.call("DeleteItem", TableName="orders", Key=key)
            await eventually(lambda: len(world.target().seen) == 2)

    asyncio.run(scenario())
    assert world.target().seen == ["a/1", "a/2"]


def test_a_window_gathers_records(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            await world.map(MaximumBatchingWindowInSeconds=30)
            await world.put("a", 1)
            await world.put("a", 2)
            await settle()
            assert not world.target().calls
            world.clock.advance(31)
            await eventually(lambda: world.target().calls)

    asyncio.run(scenario())
    assert world.target().calls == [["a/1", "a/2"]]


def test_discarded_batches_are_reported_to_a_file(world, tmp_path):
    report = tmp_path / "lost.jsonl"

    async def scenario():
        world.target().behaviour = lambda keys: BAD if "a/2" in keys else Outcome()
        async with world.running():
            await world.create_table()
            await world.map(
                MaximumRetryAttempts=0,
                BisectBatchOnFunctionError=True,
                DestinationConfig={"OnFailure": {"Destination": f"file://{report}"}},
            )
            await world.put("a", 1, 2, 3)
            await eventually(lambda: "a/3" in world.target().calls[-1] if report.exists() else None)

    asyncio.run(scenario())
    (line,) = report.read_text().splitlines()
    document = json.loads(line)
    context = document["requestContext"]
    assert context["condition"] == "RetryAttemptsExhausted"
    assert context["functionArn"] == "arn:aws:lambda:us-east-1:000000000000:function:f"
    place = document["DDBStreamBatchInfo"]
    assert place["batchSize"] == 1
    assert place["startSequenceNumber"] == place["endSequenceNumber"]
    assert place["streamArn"] == world.stream_arn
    (record,) = json.loads(document["payload"])["Records"]
    assert record["dynamodb"]["SequenceNumber"] == place["startSequenceNumber"]


def test_discarded_batches_are_reported_to_a_function(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD
        collector = world.target("collector")
        collector.keys = lambda event: [event["requestContext"]["condition"]]
        async with world.running():
            await world.create_table()
            store = world.database.trigger_store
            await store.put_function(WORLD, FunctionRecord("collector", "http", "http://test"))
            await world.map(
                MaximumRecordAgeInSeconds=60,
                DestinationConfig={"OnFailure": {"Destination": "collector"}},
            )
            await world.put("a", 1)
            await eventually(lambda: world.target().calls)
            world.clock.advance(61)
            await eventually(lambda: collector.events)
        assert collector.seen == ["RecordAgeExceeded"]

    asyncio.run(scenario())


def test_a_function_that_is_not_registered_any_more_is_waited_for(world):
    async def scenario():
        async with world.running():
            await world.create_table()
            await world.map(MaximumRetryAttempts=0)
            store = world.database.trigger_store
            await store.delete_function(WORLD, "f")
            await world.put("a", 1)
            await settle()
            assert not world.target().calls
            await store.put_function(WORLD, FunctionRecord("f", "http", "http://test"))
            world.clock.advance(120)
            await eventually(lambda: world.target().seen == ["a/1"])

    asyncio.run(scenario())


def test_the_last_result_is_known(world):
    async def scenario():
        world.target().behaviour = lambda keys: BAD
        async with world.running():
            await world.create_table()
            uuid = await world.map()
            store = world.database.trigger_store
            assert await store.result(uuid) == "No records processed"
            await world.put("a", 1)
            results = []

            async def follow():
                while "OK" not in results:
                    results.append(await store.result(uuid))
                    if results[-1].startswith("PROBLEM"):
                        world.target().behaviour = lambda keys: Outcome()
                        world.clock.advance(1)
                    await asyncio.sleep(0.005)

            async with asyncio.timeout(10):
                await follow()

    asyncio.run(scenario())


def make_trigger(**fields):
    return MappingRecord(
        uuid="",
        account=WORLD[0],
        region=WORLD[1],
        stream_arn="orders",
        function="f",
        starting_position="TRIM_HORIZON",
        is_configured=True,
        **fields,
    )


def test_triggers_of_the_settings_wait_for_their_table_and_leave_with_the_settings(world):
    async def mappings():
        return await world.database.trigger_store.mappings()

    async def scenario():
        function = FunctionRecord("f", "http", "http://test")
        settings = {"functions": [function], "triggers": [make_trigger()]}
        async with world.running(**settings):
            assert not await mappings()
            await world.create_table()
            await world.put("a", 1)
            await eventually(lambda: world.target().seen == ["a/1"])
            (made,) = await mappings()
        settings["triggers"] = [make_trigger(batch_size=7)]
        async with world.running(**settings):
            await world.put("a", 2)
            await eventually(lambda: world.target().seen == ["a/1", "a/2"])
            (changed,) = await mappings()
            assert (changed.uuid, changed.batch_size) == (made.uuid, 7)
        async with world.running(functions=[function]):
            async with asyncio.timeout(5):
                while await mappings():
                    await asyncio.sleep(0.005)

    asyncio.run(scenario())


def test_reading_runs_ahead_only_so_far(world, monkeypatch):
    from hashrange.services.triggers import shards

    monkeypatch.setattr(shards, "_AHEAD_RECORDS_MIN", 10)

    async def scenario():
        opened = asyncio.Event()
        world.target().gate = lambda keys: opened.wait()
        async with world.running():
            await world.create_table()
            for number in range(700):
                await world.put("a", number)
            await world.map(BatchSize=5)
            await eventually(lambda: world.target().calls)
            await settle()
            (running,) = world.database._triggers._running.values()
            (run,) = running.run._runs.values()
            assert run._lanes[0].open_count <= 200
            opened.set()
            await eventually(lambda: len(world.target().seen) == 700)
        assert world.target().seen == [f"a/{number}" for number in range(700)]

    asyncio.run(scenario())
