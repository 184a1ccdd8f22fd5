"""A database whose triggers call functions of the test, in one event loop, with a clock by hand."""

import asyncio
import contextlib
import json
from typing import Any

import pytest

from hashrange.app import engines
from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.model.triggers import FunctionRecord
from hashrange.services.triggers import functions
from hashrange.services.triggers.lanes import Outcome
from tests.harness.calls import answer, scope_in
from tests.harness.engines import memory_plays

WORLD = ("000000000000", "us-east-1")
WAIT_SECONDS_MAX = 10.0


@pytest.fixture(autouse=True, params=["memory", "cluster"])
def _engine(request):
    """Run every test on both engines; one shard, since tests look for the order of changes."""
    with memory_plays(request.param, shards=1):
        yield


class FakeTarget:
    """A function of a test: remembers its events, and answers what the test wants."""

    def __init__(self):
        self.events = []
        self.behaviour = lambda keys: Outcome()
        self.gate = None

    async def invoke(self, invocation):
        event = json.loads(invocation.event)
        self.events.append(event)
        if self.gate is not None:
            await self.gate(self.keys(event))
        return self.behaviour(self.keys(event))

    async def close(self):
        pass

    @staticmethod
    def keys(event):
        """Return the keys of an event's records as texts: partition, and number if there is one."""
        return [
            "/".join(next(iter(value.values())) for value in record["dynamodb"]["Keys"].values())
            for record in event["Records"]
        ]

    @property
    def calls(self):
        return [self.keys(event) for event in self.events]

    @property
    def seen(self):
        return [key for call in self.calls for key in call]


class World:
    """An engine that outlives the databases on it."""

    def __init__(self):
        self.engine = vars(engines)["MemoryEngine"]()
        self.clock = VirtualClock()
        self.targets = {}
        self.database: Any = None
        self.stream_arn = None

    def target(self, name="f"):
        return self.targets.setdefault(name, FakeTarget())

    @contextlib.asynccontextmanager
    async def running(self, **settings):
        """Run the services of a database until the block ends."""
        self.database = Database(self.engine, self.clock, **settings)
        self.database.start_services()
        try:
            yield self
        finally:
            background = self.database._background
            background.cancel()
            await asyncio.gather(background, return_exceptions=True)

    async def call(self, operation, **request):
        answered = await answer(self.database, operation, json.dumps(request).encode())
        assert answered.status == 200, answered.body
        return json.loads(answered.body)

    async def create_table(self, name="orders"):
        described = await self.call(
            "CreateTable",
            TableName=name,
            KeySchema=[
                {"AttributeName": "p", "KeyType": "HASH"},
                {"AttributeName": "s", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "p", "AttributeType": "S"},
                {"AttributeName": "s", "AttributeType": "N"},
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.stream_arn = described["TableDescription"]["LatestStreamArn"]

    async def put(self, partition, *numbers, table="orders", **attributes):
        for number in numbers:
            item = {"p": {"S": partition}, "s": {"N": str(number)}, **attributes}
            await self.call("PutItem", TableName=table, Item=item)

    async def map(self, function="f", start="TRIM_HORIZON", **options):
        """Register a function, if need be, and map the stream to it."""
        from hashrange.api.triggers.event_sources import EventSources

        store = self.database.trigger_store
        if await store.function(WORLD, function) is None:
            await store.put_function(WORLD, FunctionRecord(function, "http", "http://test"))
        sources = EventSources(store, files_allowed=True)
        request = {
            "EventSourceArn": self.stream_arn,
            "FunctionName": function,
            "StartingPosition": start,
            **options,
        }
        made = await sources.create(self._scope(), request)
        return made["UUID"]

    async def update(self, uuid, **options):
        from hashrange.api.triggers.event_sources import EventSources

        sources = EventSources(self.database.trigger_store, files_allowed=True)
        return await sources.update(self._scope(), {"UUID": uuid, **options})

    def _scope(self):
        return scope_in(self.database._make_context(*WORLD))


async def eventually(condition):
    """Let the event loop run until a condition holds, within bounds."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not condition():
            await asyncio.sleep(0.002)


async def settle(turns=20):
    """Give everything that could happen by itself the time to happen."""
    for _ in range(turns):
        await asyncio.sleep(0.005)


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(
        functions, "make_target", lambda world, function, surroundings: made.target(function.name)
    )
    return made
