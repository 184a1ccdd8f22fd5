"""LookupEvents, called as a service calls it."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from hashrange.audit.events import RETENTION_SECONDS, EventStore, event_key
from hashrange.clock import VirtualClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.neighbours.cloudtrail.operations import make_operations
from hashrange.neighbours.service import ServiceError

WORLD = ("000000000000", "us-east-1")
NOW = 2_000_000_000.0


def record(number, time):
    return {
        "eventID": f"id{number}",
        "eventName": "CreateTable" if number % 2 else "ListTables",
        "eventSource": "dynamodb.amazonaws.com",
        "eventTime": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "readOnly": not number % 2,
        "userIdentity": {"accessKeyId": "AKIA", "userName": "ann"},
        "resources": [{"type": "AWS::DynamoDB::Table", "ARN": f"arn:aws:x:table/t{number}"}],
    }


@pytest.fixture
def lookup():
    store = EventStore(MemoryEngine())
    times = [NOW - 10 * number for number in range(6)]
    events = [(event_key(WORLD, time, f"id{n}"), record(n, time)) for n, time in enumerate(times)]
    other = (event_key(("111111111111", "us-east-1"), NOW, "other"), record(9, NOW))
    asyncio.run(store.add([*events, other]))
    scope = SimpleNamespace(account=WORLD[0], region=WORLD[1], clock=VirtualClock(NOW))
    handler = make_operations(store)["LookupEvents"]

    def call(**parameters):
        async def run():
            return await handler(scope, parameters)

        return asyncio.run(run())

    vars(call)["store"] = store
    return call


def ids(answer):
    return [event["EventId"] for event in answer["Events"]]


def by(key, value):
    return {"LookupAttributes": [{"AttributeKey": key, "AttributeValue": value}]}


def test_the_newest_come_first_in_pages(lookup):
    first = lookup(MaxResults=4)
    assert ids(first) == ["id0", "id1", "id2", "id3"]
    second = lookup(MaxResults=4, NextToken=first["NextToken"])
    assert ids(second) == ["id4", "id5"]
    assert "NextToken" not in second


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("EventName", "CreateTable", ["id1", "id3", "id5"]),
        ("ReadOnly", "true", ["id0", "id2", "id4"]),
        ("EventId", "id3", ["id3"]),
        ("ResourceName", "t2", ["id2"]),
        ("ResourceType", "AWS::DynamoDB::Table", [f"id{number}" for number in range(6)]),
        ("Username", "bob", []),
        ("AccessKeyId", "AKIA", [f"id{number}" for number in range(6)]),
        ("EventSource", "kms.amazonaws.com", []),
    ],
)
def test_one_attribute_selects(lookup, key, value, expected):
    assert ids(lookup(**by(key, value))) == expected


def test_a_range_of_time_selects(lookup):
    start, end = (datetime.fromtimestamp(NOW - back, UTC) for back in (30, 15))
    assert ids(lookup(StartTime=start, EndTime=end)) == ["id2", "id3"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"MaxResults": 51}, "InvalidMaxResultsException"),
        ({"NextToken": "!"}, "InvalidNextTokenException"),
        ({"EventCategory": "insight"}, "InvalidEventCategoryException"),
        (
            {"LookupAttributes": by("EventId", "a")["LookupAttributes"] * 2},
            "InvalidLookupAttributesException",
        ),
        (
            {
                "StartTime": datetime.fromtimestamp(NOW, UTC),
                "EndTime": datetime.fromtimestamp(NOW - 100, UTC),
            },
            "InvalidTimeRangeException",
        ),
    ],
)
def test_mistakes_are_named_as_on_aws(lookup, parameters, code):
    with pytest.raises(ServiceError) as caught:
        lookup(**parameters)
    assert caught.value.code == code


def test_old_events_are_dropped(lookup):
    assert asyncio.run(lookup.store.drop_old(NOW + RETENTION_SECONDS - 25)) == 3
    assert ids(lookup()) == ["id0", "id1", "id2"]
