"""Ready-made parts: transfers, orders, the repository, global tables."""

import dataclasses
from decimal import Decimal

import pytest

from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.retries import RetryPolicy
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.errors import (
    AlreadyExists,
    ConditionFailed,
    DesignError,
    NotFound,
    TransactionFailed,
    Unavailable,
    VersionConflict,
)
from hashrange.toolkit.global_tables import GlobalTable
from hashrange.toolkit.repository import Repository
from hashrange.toolkit.transfers import TransactionManager
from tests.harness.presence import there
from tests.toolkit.test_client import KEY, SCHEMA, Failing, refusal


def create(client, name, *keys):
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": key, "KeyType": kind}
            for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
    )


@pytest.fixture
def bank(dynamodb):
    client = dynamodb.client()
    create(client, "Accounts", "PK")
    create(client, "Transactions", "PK", "SK")
    create(client, "Orders", "PK")
    create(client, "Inventory", "PK")
    resource = dynamodb.resource()
    for account, balance in (("a", 100), ("b", 5)):
        resource.Table("Accounts").put_item(Item={"PK": f"ACCOUNT#{account}", "balance": balance})
    for product, quantity in (("p", 10), ("q", 1)):
        resource.Table("Inventory").put_item(
            Item={"PK": f"PRODUCT#{product}", "quantity": quantity}
        )
    return resource


def balances(bank):
    items = bank.Table("Accounts").scan()["Items"]
    return {item["PK"][-1]: item["balance"] for item in items}


def test_a_transfer_moves_money_once(bank):
    manager = TransactionManager(bank)
    assert manager.transfer("a", "b", Decimal("30.5"), "t1") == "t1"
    assert balances(bank) == {"a": Decimal("69.5"), "b": Decimal("35.5")}
    with pytest.raises(TransactionFailed, match="this transfer was made already"):
        manager.transfer("a", "b", Decimal("30.5"), "t1")
    assert balances(bank)["b"] == Decimal("35.5")


@pytest.mark.parametrize(
    ("source", "target", "amount", "reason"),
    [
        ("b", "a", 6, "insufficient funds"),
        ("a", "nobody", 6, "no account to transfer to"),
        ("nobody", "a", 6, "no such account"),
    ],
)
def test_a_transfer_that_cannot_be_made_says_why(bank, source, target, amount, reason):
    with pytest.raises(TransactionFailed, match=reason):
        TransactionManager(bank).transfer(source, target, amount)
    assert balances(bank) == {"a": 100, "b": 5}
    assert bank.Table("Transactions").scan()["Count"] == 0


def test_a_transfer_that_makes_no_sense_is_refused(bank):
    for arguments in (("a", "b", 0), ("a", "b", -5), ("a", "a", 5)):
        with pytest.raises(DesignError):
            TransactionManager(bank).transfer(*arguments)


def test_an_order_takes_from_the_inventory_all_or_nothing(bank):
    manager = TransactionManager(bank)
    lines = [{"productId": "p", "quantity": 2}, {"productId": "p", "quantity": 1}]
    manager.order("o1", {"customer": "c"}, lines)
    assert bank.Table("Inventory").get_item(Key={"PK": "PRODUCT#p"})["Item"]["quantity"] == 7
    with pytest.raises(TransactionFailed, match="not enough of product q"):
        manager.order("o2", {}, [*lines, {"productId": "q", "quantity": 2}])
    with pytest.raises(TransactionFailed, match="this order exists already"):
        manager.order("o1", {}, lines)
    assert bank.Table("Inventory").get_item(Key={"PK": "PRODUCT#p"})["Item"]["quantity"] == 7


@dataclasses.dataclass
class Task:
    project: str
    task_id: str
    title: str
    version: int = 0


TASK = Entity("task", {"PK": "PROJECT#{project}", "SK": "TASK#{task_id}"}, Task, version="version")


def test_a_repository_has_the_everyday_operations(dynamodb_client):
    bound = BoundDesign(Design("tasks", (Table("Tasks", "PK", "SK"),), (TASK,)), dynamodb_client)
    bound.create_tables()
    tasks = Repository(bound, TASK)
    first = tasks.create(Task("x", "1", "write"))
    tasks.create(Task("x", "2", "test"))
    with pytest.raises(AlreadyExists):
        tasks.create(first)
    assert tasks.get(project="x", task_id="1") == first
    assert tasks.get(project="x", task_id="9") is None
    with pytest.raises(NotFound):
        tasks.require(project="x", task_id="9")
    changed = tasks.update({"project": "x", "task_id": "1"}, title="draw", version=1)
    assert (changed.title, changed.version) == ("draw", 2)
    with pytest.raises(VersionConflict):
        tasks.save(first)
    assert [task.title for task in tasks.collection(project="x")] == ["draw", "test"]
    assert tasks.delete(project="x", task_id="1") == changed
    assert tasks.collection(project="x", limit=5).all() == [Task("x", "2", "test", 1)]


@pytest.fixture
def regions(dynamodb):
    clients = {region: dynamodb.client(region_name=region) for region in ("eu-west-1", "us-east-1")}
    for client in clients.values():
        client.create_table(**SCHEMA)
    return clients


QUICK = RetryPolicy(attempts=1)


def test_a_region_that_fails_is_replaced_by_the_next(regions):
    regions["us-east-1"].put_item(
        TableName="App", Item={**{k: {"S": v} for k, v in KEY.items()}, "n": {"N": "1"}}
    )
    broken = Failing(regions["eu-west-1"], *[refusal("InternalServerError")] * 9)
    table = GlobalTable("App", {**regions, "eu-west-1": broken}, policy=QUICK)
    assert there(table.get(KEY))["n"] == 1
    assert table.last_region == "us-east-1"
    table.put({**KEY, "n": 2})
    assert there(table.delete(KEY))["n"] == 2


def test_a_refusal_is_an_answer_and_is_not_asked_elsewhere(regions):
    refusing = Failing(regions["eu-west-1"], refusal("ConditionalCheckFailedException"))
    table = GlobalTable("App", {**regions, "eu-west-1": refusing}, policy=QUICK)
    with pytest.raises(ConditionFailed):
        table.get(KEY)


def test_it_is_told_which_regions_lag_behind(regions):
    table = GlobalTable("App", regions, policy=QUICK, sleep=lambda seconds: None)
    table.put({**KEY, "n": 1})
    assert table.missing_in(KEY, {**KEY, "n": 1}) == ("us-east-1",)
    with pytest.raises(Unavailable, match="not replicated to us-east-1"):
        table.wait_until_replicated(KEY, {**KEY, "n": 1}, polls=2)
    table.table("us-east-1").put({**KEY, "n": 1})
    table.wait_until_replicated(KEY, {**KEY, "n": 1}, polls=1)


def test_all_regions_failing_is_unavailable(regions):
    broken = {
        name: Failing(client, *[refusal("ThrottlingException")] * 3)
        for name, client in regions.items()
    }
    with pytest.raises(Unavailable, match=r"eu-west-1.*us-east-1"):
        GlobalTable("App", broken, policy=QUICK).get(KEY)
