"""The stream consumer: order, handlers, filters, checkpoints, failures, shards that end."""

import dataclasses
from typing import Any

import pytest

from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.streams.checkpoints import (
    SHARD_END,
    FileCheckpoints,
    MemoryCheckpoints,
    TableCheckpoints,
)
from hashrange.toolkit.streams.consumer import StreamConsumer
from hashrange.toolkit.streams.reader import ConsumerOptions
from hashrange.toolkit.streams.shards import Shard, readable
from tests.toolkit.test_client import refusal


@dataclasses.dataclass
class User:
    user_id: str
    name: str = ""


DESIGN = Design(
    "app",
    (Table("App", "PK", "SK", stream="NEW_AND_OLD_IMAGES", ttl="expires_at"),),
    (
        Entity("user", {"PK": "USER#{user_id}", "SK": "USER"}, User),
        Entity("visit", {"PK": "USER#{user_id}", "SK": "VISIT#{at}"}, model=dict),
    ),
    (
        AccessPattern("save", "put", ("user",)),
        AccessPattern("visit", "put", ("visit",)),
        AccessPattern("remove", "delete", ("user",)),
    ),
)


@pytest.fixture
def app(dynamodb_client):
    bound = BoundDesign(DESIGN, dynamodb_client)
    bound.create_tables()
    return bound


@pytest.fixture
def consume(dynamodb, app):
    def make(**more):
        streams = dynamodb.client("dynamodbstreams")
        return StreamConsumer(
            dynamodb.client(), streams, "App", design=DESIGN, sleep=lambda seconds: None, **more
        )

    return make


def drain(consumer):
    total = 0
    for _ in range(50):
        count = consumer.poll()
        total += count
        if not count:
            break
    return total


def collecting(consumer, *events, **more):
    seen: list[Any] = []
    consumer.on(*events, **more)(seen.append)
    return seen


def test_changes_arrive_in_order_with_their_images(app, consume):
    consumer = consume()
    seen = collecting(consumer)
    app.save(User("1", "Al"))
    app.save(User("1", "Bo"))
    app.remove("1")
    assert drain(consumer) == 3
    assert [change.event for change in seen] == ["INSERT", "MODIFY", "REMOVE"]
    assert [change.entity for change in seen] == ["user"] * 3
    assert (seen[1].old_record, seen[1].new_record) == (User("1", "Al"), User("1", "Bo"))
    assert seen[1].changed == {"name"}
    assert not seen[2].expired
    assert seen[2].new is None


def test_handlers_get_only_what_they_asked_for(app, consume):
    consumer = consume()
    inserted = collecting(consumer, "INSERT", entity="user")
    named = collecting(consumer, where=lambda change: bool((change.new or {}).get("name")))
    app.save(User("1"))
    app.visit({"user_id": "1", "at": 5})
    app.save(User("1", "Al"))
    drain(consumer)
    assert [change.new_record for change in inserted] == [User("1")]
    assert [change.new_record for change in named] == [User("1", "Al")]


def test_an_entity_needs_a_design(dynamodb):
    consumer = StreamConsumer(dynamodb.client(), dynamodb.client("dynamodbstreams"), "App")
    with pytest.raises(DesignError):
        consumer.on(entity="user")


@pytest.mark.parametrize("kind", ["memory", "file", "table"])
def test_a_consumer_resumes_after_the_last_change_it_finished(app, consume, kind, tmp_path):
    checkpoints: Any = {
        "memory": MemoryCheckpoints,
        "file": lambda: FileCheckpoints(tmp_path / "positions.json"),
        "table": lambda: TableCheckpoints(app.driver, "Positions"),
    }[kind]()
    if kind == "table":
        checkpoints.create_table()
    app.save(User("1"))
    assert drain(consume(checkpoints=checkpoints)) == 1
    app.save(User("2"))
    again = consume(checkpoints=checkpoints)
    seen = collecting(again)
    assert drain(again) == 1
    assert seen[0].new_record == User("2")


def test_a_failing_handler_is_tried_again_and_then_stops_the_consumer_there(app, consume):
    for number in range(4):
        app.save(User(str(number)))
    checkpoints = MemoryCheckpoints()
    calls = []

    def fail_at_two(change):
        calls.append(change.new_record.user_id)
        if change.new_record.user_id == "2":
            raise RuntimeError("no")

    consumer = consume(checkpoints=checkpoints)
    consumer.on()(fail_at_two)
    with pytest.raises(RuntimeError):
        drain(consumer)
    assert calls == ["0", "1", "2", "2", "2"]
    again = consume(checkpoints=checkpoints)
    seen = collecting(again)
    drain(again)
    assert [change.new_record.user_id for change in seen] == ["2", "3"]


def test_a_change_that_cannot_be_handled_can_be_put_aside(app, consume):
    aside = []
    options = ConsumerOptions(on_failure=lambda change, error: aside.append(str(error)))
    consumer = consume(options=options)

    @consumer.on()
    def fail(change):
        raise RuntimeError(change.new_record.user_id)

    app.save(User("1"))
    app.save(User("2"))
    assert drain(consumer) == 2
    assert aside == ["1", "2"]


def test_latest_leaves_out_what_was_there_before(app, consume):
    app.save(User("1"))
    consumer = consume(options=ConsumerOptions(start="LATEST"))
    seen = collecting(consumer)
    consumer.poll()
    app.save(User("2"))
    drain(consumer)
    assert [change.new_record.user_id for change in seen] == ["2"]


def test_expired_items_are_told_from_deleted_ones(app, consume, dynamodb):
    now = dynamodb.clock.now()
    app.visit({"user_id": "1", "at": 1, "expires_at": int(now) + 60})
    dynamodb.clock.advance(3600)
    consumer = consume()
    seen = collecting(consumer, "REMOVE")
    drain(consumer)
    assert [change.expired for change in seen] == [True]


def test_shards_that_rolled_over_are_followed(app, consume, dynamodb):
    consumer = consume()
    seen = collecting(consumer)
    for number in range(6):
        app.save(User(str(number)))
        dynamodb.clock.advance(3 * 3600)
    drain(consumer)
    assert [change.new_record.user_id for change in seen] == [str(number) for number in range(6)]
    assert len({change.shard_id for change in seen}) > 1


@pytest.mark.parametrize("code", ["ExpiredIteratorException", "TrimmedDataAccessException"])
def test_a_position_that_is_gone_is_found_again(app, dynamodb, code):
    streams = Interrupted(dynamodb.client("dynamodbstreams"), code)
    consumer = StreamConsumer(dynamodb.client(), streams, "App", sleep=lambda seconds: None)
    seen = collecting(consumer)
    app.save(User("1"))
    drain(consumer)
    app.save(User("2"))
    streams.is_due = True
    assert consumer.poll() == 0
    drain(consumer)
    names = [change.new["user_id"] for change in seen]
    assert names == (["1", "2"] if code == "ExpiredIteratorException" else ["1", "1", "2"])


class Interrupted:
    """A streams client whose next GetRecords fails when it is due."""

    def __init__(self, client, code):
        self._client = client
        self._code = code
        self.is_due = False

    def __getattr__(self, name):
        if name == "get_records" and self.is_due:
            self.is_due = False
            return self._fail
        return getattr(self._client, name)

    def _fail(self, **parameters):
        raise refusal(self._code)


def test_run_ends_when_it_is_stopped(app, consume):
    consumer = consume()

    @consumer.on()
    def stop(change):
        consumer.stop()

    app.save(User("1"))
    consumer.run()


def test_a_child_is_read_after_its_parents_end():
    shards = [Shard("a"), Shard("b", "a"), Shard("c", "a"), Shard("d", "gone")]
    assert [each.id for each in readable(shards, {})] == ["a", "d"]
    assert [each.id for each in readable(shards, {"a": SHARD_END, "c": "5"})] == ["b", "c", "d"]
