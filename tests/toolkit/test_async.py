"""The asynchronous side has the same operations with the same results."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from examples.designs import chat, shop
from hashrange.toolkit.async_bound import AsyncBoundDesign
from hashrange.toolkit.client.async_driver import AsyncDriver
from hashrange.toolkit.client.async_tables import AsyncTableClient
from hashrange.toolkit.client.retries import RetryPolicy
from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.codecs.large_values import LargeValues
from hashrange.toolkit.design.patterns import begins_with
from hashrange.toolkit.errors import (
    AlreadyExists,
    NotFound,
    NotUnique,
    Throttled,
    TransactionFailed,
)
from hashrange.toolkit.repository import AsyncRepository
from hashrange.toolkit.streams.checkpoints import AsyncTableCheckpoints, MemoryCheckpoints
from hashrange.toolkit.streams.consumer import AsyncStreamConsumer, StreamConsumer
from hashrange.toolkit.transfers import (
    ACCOUNTS,
    INVENTORY,
    ORDERS,
    TRANSACTIONS,
    AsyncTransactionManager,
)
from tests.harness.presence import there
from tests.toolkit.test_client import KEY, SCHEMA, Failing, refusal
from tests.toolkit.test_codecs import Bucket
from tests.toolkit.test_examples import NOW, minutes
from tests.toolkit.test_ready_made import create


class Awaited:
    """A boto3 client whose methods are awaited, as those of aiobotocore are."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        async def call(**parameters):
            await asyncio.sleep(0)
            answer = getattr(self._client, name)(**parameters)
            if "Body" in answer:
                answer = {"Body": AwaitedBody(answer["Body"])}
            return answer

        return call


class AwaitedBody:
    def __init__(self, body):
        self._body = body

    async def read(self):
        return self._body.read()


@pytest.fixture
def client(dynamodb_client):
    dynamodb_client.create_table(**SCHEMA)
    return Awaited(dynamodb_client)


def test_a_table_client_does_everything_awaited(client):
    async def session():
        table = AsyncTableClient(client, "App")
        await table.create({**KEY, "n": 1})
        with pytest.raises(AlreadyExists):
            await table.create(KEY)
        assert await table.put({**KEY, "n": 2}) == {**KEY, "n": 1}
        assert (await table.update(KEY, add={"n": 1}))["n"] == 3
        assert (await table.update_by(KEY, "SET n = n + :by", by=4))["n"] == 7
        assert await table.get(KEY, consistent=True) == {**KEY, "n": 7}
        assert there(await table.delete(KEY))["n"] == 7
        items = [{"PK": "A", "SK": f"{at:03}"} for at in range(130)]
        assert await table.batch_write(items) == 130
        assert len(await table.batch_get(items)) == 130
        query = table.query({"PK": "A", "SK": begins_with("00")}, newest_first=True)
        assert [item["SK"] async for item in query][:2] == ["009", "008"]
        assert there(await query.first())["SK"] == "009"
        page = await query.page(size=4)
        assert [item["SK"] for item in await query.page(page.cursor, size=2)] == ["005", "004"]
        assert len(await table.scan().all()) == 130
        seen: list[Any] = []
        scanned = [item async for item in table.parallel_scan(3, on_progress=seen.append)]
        assert len(scanned) == 130
        assert seen[-1].is_done
        failing = Transaction().check("App", KEY, condition="attribute_exists(PK)")
        with pytest.raises(TransactionFailed):
            await table.transact(failing)

    asyncio.run(session())


def test_failures_are_tried_again_with_awaited_pauses(dynamodb_client):
    dynamodb_client.create_table(**SCHEMA)
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    async def session(*errors):
        driver = AsyncDriver(Awaited(Failing(dynamodb_client, *errors)), sleep=sleep)
        policy = RetryPolicy(attempts=3, jitter=lambda: 1.0)
        await AsyncTableClient(driver, "App", policy=policy).put(KEY)

    asyncio.run(session(refusal("ThrottlingException"), refusal("InternalServerError")))
    assert pauses == [0.05, 0.1]
    with pytest.raises(Throttled):
        asyncio.run(session(*[refusal("ThrottlingException")] * 3))


def test_large_values_are_read_from_an_awaited_body(dynamodb_client):
    dynamodb_client.create_table(**SCHEMA)
    driver = AsyncDriver(Awaited(dynamodb_client), {"s3": Awaited(Bucket())})
    codec = LargeValues(["text"], bucket="b", minimum_bytes=10)
    table = AsyncTableClient(driver, "App", codecs=[codec])

    async def session():
        await table.put({**KEY, "text": "x" * 100})
        assert there(await table.get(KEY))["text"] == "x" * 100

    asyncio.run(session())


async def use_shop(client):
    """Use a design as anybody would; the types are checked by `test_types`."""
    store = AsyncBoundDesign(shop.Shop.design, client)
    await store.create_tables()
    await store.run(shop.Shop.sign_up, shop.Customer("c1", "a@x", "Ann"))
    with pytest.raises(NotUnique):
        await store.sign_up(record=shop.Customer("c2", "a@x", "Bob"))
    for number in range(6):
        order = shop.Order(
            "c1", f"o{number}", minutes(number), shop.Status.PENDING, Decimal(number)
        )
        await store.table().put(
            {"PK": "CUSTOMER#c1", "SK": f"ORDER#{number}", **vars(order), "type": "order"}
        )
    found = [each.order_id async for each in store.pages(shop.Shop.customer_orders, "c1", limit=2)]
    assert found == ["o5", "o4"]
    customer = await store.run(shop.Shop.customer, "c1")
    assert there(customer).name == "Ann"
    with pytest.raises(AttributeError):
        _ = store.nonsense


def test_patterns_are_awaited(dynamodb_client):
    asyncio.run(use_shop(Awaited(dynamodb_client)))


def test_buckets_and_shards_are_gathered_awaited(dynamodb_client):
    async def session():
        rooms = AsyncBoundDesign(chat.Chat.design, Awaited(dynamodb_client))
        await rooms.create_tables()
        for number in range(4):
            message = chat.Message("r", minutes(20 * number), f"m{number}", "ann", "hello")
            await rooms.say(message)
        history = rooms.history("r", sent_at=(NOW, minutes(90)))
        assert [each.message_id async for each in history] == ["m0", "m1", "m2", "m3"]

    asyncio.run(session())


@pytest.mark.aiobotocore
def test_aiobotocore_itself(dynamodb_server):
    from aiobotocore.session import get_session

    async def session():
        async with get_session().create_client(
            "dynamodb",
            endpoint_url=dynamodb_server.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        ) as client:
            await use_shop(client)

    asyncio.run(session())


def test_a_repository_is_awaited(dynamodb_client):
    async def session():
        store = AsyncBoundDesign(shop.Shop.design, Awaited(dynamodb_client))
        await store.create_tables()
        customers = AsyncRepository(store, shop.Shop.customers)
        ann = await customers.create(shop.Customer("c1", "a@x", "Ann"))
        assert await customers.get(customer_id="c1") == ann
        renamed = await customers.update({"customer_id": "c1"}, name="Anna")
        assert (renamed.name, renamed.version) == ("Anna", ann.version + 1)
        with pytest.raises(NotFound):
            await customers.require(customer_id="c2")
        products = AsyncRepository(store, shop.Shop.products)
        await products.save(shop.Product("p", "tea", "Assam", Decimal(4), 3))
        assert [each.name async for each in products.collection(product_id="p")] == ["Assam"]
        assert there(await products.delete(product_id="p")).name == "Assam"
        assert await products.delete(product_id="p") is None

    asyncio.run(session())


def test_a_transfer_and_an_order_are_awaited(dynamodb_client):
    for place in (ACCOUNTS, TRANSACTIONS, ORDERS, INVENTORY):
        create(dynamodb_client, place.table, *place.keys)
    for account, balance in (("a", "10"), ("b", "0")):
        item = {"PK": {"S": f"ACCOUNT#{account}"}, "balance": {"N": balance}}
        dynamodb_client.put_item(TableName="Accounts", Item=item)

    async def session():
        manager = AsyncTransactionManager(Awaited(dynamodb_client))
        await manager.transfer("a", "b", 7)
        with pytest.raises(TransactionFailed, match="insufficient funds"):
            await manager.transfer("a", "b", 7)
        with pytest.raises(TransactionFailed, match="not enough of product p"):
            await manager.order("1", {}, [{"productId": "p", "quantity": 1}])

    asyncio.run(session())
    stored = dynamodb_client.scan(TableName="Accounts")["Items"]
    assert {item["PK"]["S"]: item["balance"]["N"] for item in stored} == {
        "ACCOUNT#a": "3",
        "ACCOUNT#b": "7",
    }


def streaming(dynamodb):
    """Return a table with a stream, and awaited clients for both."""
    client = dynamodb.client()
    client.create_table(
        **SCHEMA,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    return client, Awaited(client), Awaited(dynamodb.client("dynamodbstreams"))


def put_numbers(client, *numbers):
    for number in numbers:
        item = {"PK": {"S": "A"}, "SK": {"S": str(number)}}
        client.put_item(TableName="App", Item=item)


def test_a_consumer_awaits_handlers_and_checkpoints(dynamodb):
    client, awaited, streams = streaming(dynamodb)
    seen: list[str] = []

    async def session(start, stop):
        checkpoints = AsyncTableCheckpoints(awaited, "Positions")
        if start == 0:
            await checkpoints.create_table()
        put_numbers(client, *range(start, stop))
        consumer = AsyncStreamConsumer(awaited, streams, "App", checkpoints=checkpoints)

        @consumer.on("INSERT")
        async def note(change):
            await asyncio.sleep(0)
            seen.append(change.new["SK"])
            if len(seen) == stop:
                consumer.stop()

        await consumer.run()

    asyncio.run(session(0, 3))
    asyncio.run(session(3, 5))
    assert seen == ["0", "1", "2", "3", "4"]


def test_a_cancelled_consumer_keeps_the_position_of_what_it_has_finished(dynamodb):
    client, awaited, streams = streaming(dynamodb)
    put_numbers(client, 0, 1, 2)
    checkpoints = MemoryCheckpoints()
    seen: list[str] = []

    async def session():
        consumer = AsyncStreamConsumer(awaited, streams, "App", checkpoints=checkpoints)
        reached = asyncio.Event()

        @consumer.on()
        async def hang_at_one(change):
            if change.new["SK"] == "1":
                reached.set()
                await asyncio.Event().wait()
            seen.append(change.new["SK"])

        task = asyncio.create_task(consumer.run())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(session())
    again = StreamConsumer(
        dynamodb.client(), dynamodb.client("dynamodbstreams"), "App", checkpoints=checkpoints
    )
    again.on()(lambda change: seen.append(change.new["SK"]))
    again.poll()
    assert seen == ["0", "1", "2"]
