"""The metrics of functions."""

import asyncio
import json

import pytest

from hashrange.services.triggers.lanes import Outcome
from hashrange.services.triggers.meter import FunctionMeter
from tests.harness.monitors import make_monitor
from tests.unit.services.triggers.conftest import WORLD, eventually


async def samples(monitor, name, function="f"):
    """Return the samples of a metric of a function, over everything."""
    found = {}
    await monitor.metrics.buffer.flush()
    for series, totals in await monitor.metrics.totals():
        if series.namespace == "AWS/Lambda":
            found[series.name, dict(series.dimensions).get("FunctionName")] = totals
    return found.get((name, function))


@pytest.fixture
def monitor(world):
    return make_monitor(world.engine, world.clock)


def test_invocations_errors_durations_and_ages_are_those_of_the_deliveries(world, monitor):
    outcomes = [Outcome(error="no"), Outcome()]
    world.target().behaviour = lambda keys: outcomes.pop(0)

    async def scenario():
        async with world.running():
            world.database.measure_functions(FunctionMeter(monitor.metrics.buffer))
            await world.create_table()
            await world.put("a", 1)
            world.clock.advance(7)
            await world.map(MaximumRetryAttempts=5)
            # A retry waits for the clock.
            await eventually(lambda: world.clock.advance(1) or not outcomes)
        return {
            name: await samples(monitor, name)
            for name in ("Invocations", "Errors", "Duration", "IteratorAge", "ConcurrentExecutions")
        }

    found = asyncio.run(scenario())
    assert (found["Invocations"].count, found["Invocations"].sum) == (2, 2)
    assert (found["Errors"].count, found["Errors"].sum) == (2, 1)
    assert found["Duration"].count == 2
    assert found["Duration"].minimum >= 0
    assert found["IteratorAge"].count == 2
    assert found["IteratorAge"].minimum >= 7000
    assert found["ConcurrentExecutions"].maximum == 1


def test_all_functions_are_counted_together_too(world, monitor):
    meter = FunctionMeter(monitor.metrics.buffer)

    async def scenario():
        with meter.running(WORLD, "f") as outcomes, meter.running(WORLD, "g") as others:
            outcomes.append(Outcome())
            others.append(Outcome(error="no"))
        return await samples(monitor, "Errors", None), await samples(
            monitor, "ConcurrentExecutions", None
        )

    errors, concurrent = asyncio.run(scenario())
    assert (errors.count, errors.sum) == (2, 1)
    assert concurrent.maximum == 2


def test_a_function_out_of_reach_is_not_invoked(world, monitor):
    meter = FunctionMeter(monitor.metrics.buffer)

    async def scenario():
        with meter.running(WORLD, "f") as outcomes:
            outcomes.append(Outcome(error="gone", is_invoked=False))
        return await samples(monitor, "Invocations")

    assert asyncio.run(scenario()) is None


def test_a_report_that_does_not_arrive_is_counted(world, monitor, tmp_path, monkeypatch):
    monkeypatch.setattr("hashrange.services.triggers.destinations._PAUSE_SECONDS", 0)
    world.target().behaviour = lambda keys: Outcome(error="no")
    absent = (tmp_path / "absent" / "file").as_uri()

    async def scenario():
        async with world.running():
            world.database.measure_functions(FunctionMeter(monitor.metrics.buffer))
            await world.create_table()
            await world.put("a", 1)
            await world.map(
                MaximumRetryAttempts=0,
                DestinationConfig={"OnFailure": {"Destination": absent}},
            )
            found = None
            while found is None:
                found = await samples(monitor, "DestinationDeliveryFailures")
                await asyncio.sleep(0)
            return found

    assert asyncio.run(asyncio.wait_for(scenario(), 30)).sum == 1


def test_a_mapping_can_have_the_counts_of_its_records(world, monitor, tmp_path):
    world.target().behaviour = lambda keys: Outcome(error="no" if "b/1" in keys else None)

    async def scenario():
        async with world.running():
            world.database.measure_functions(FunctionMeter(monitor.metrics.buffer))
            await world.create_table()
            for partition in ("a", "b", "c"):
                await world.put(partition, 1, 2)
            pattern = json.dumps({"dynamodb": {"Keys": {"p": {"S": ["a", "b"]}}}})
            await world.map(
                BatchSize=1,
                MaximumRetryAttempts=0,
                FilterCriteria={"Filters": [{"Pattern": pattern}]},
                MetricsConfig={"Metrics": ["EventCount"]},
                DestinationConfig={"OnFailure": {"Destination": (tmp_path / "lost").as_uri()}},
            )
            await eventually(lambda: world.target().seen == ["a/1", "a/2", "b/1", "b/2"])
            await eventually((tmp_path / "lost").exists)
        await monitor.metrics.buffer.flush()
        return {
            series.name: totals.sum
            for series, totals in await monitor.metrics.totals()
            if "EventSourceMappingUUID" in dict(series.dimensions)
        }

    assert asyncio.run(scenario()) == {
        "PolledEventCount": 6,
        "FilteredOutEventCount": 2,
        "InvokedEventCount": 3,
        "FailedInvokeEventCount": 1,
        "DroppedEventCount": 1,
        "OnFailureDestinationDeliveredEventCount": 1,
    }
