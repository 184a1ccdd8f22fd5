"""Several workers on one data directory behave as one server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.faults.served import Connection, Served

WORKERS = 3
CLIENTS = 12
ADDS_PER_CLIENT = 60
TRANSFERS_PER_CLIENT = 40
ACCOUNTS = 8
BALANCE = 10
HOT_UNITS = 100
HOT_PUTS = 12
BURST = 300  # seconds of unused capacity that a table keeps
TABLES = int(os.environ.get("HASHRANGE_CATALOG_ROUNDS", "40"))

KEYS: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
INDEX: dict[str, Any] = {
    "IndexName": "by-kind",
    "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
ITEM = {"id": {"S": "one"}, "kind": {"S": "k"}}


@pytest.fixture(scope="module", params=["hashrange", "tests.engine.slow_disk"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("served") / "data"
    flags = ("--workers", str(WORKERS), "--log-level", "error")
    served = Served(directory, *flags, command=("-m", request.param))
    served.start()
    yield served
    assert served.stop() == 0
    served.close()


@pytest.fixture
def clients(served: Served) -> Iterator[list[Connection]]:
    """Connections enough to reach every worker."""
    connections = [Connection(served.port) for _ in range(CLIENTS)]
    yield connections
    for connection in connections:
        connection.close()


def add(client: Connection) -> list[int]:
    """Count on, and return what was answered."""
    told = []
    for _ in range(ADDS_PER_CLIENT):
        answer = client.result(
            "UpdateItem",
            TableName="counters",
            Key={"id": {"S": "one"}},
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
        told.append(int(answer["Attributes"]["n"]["N"]))
    return told


def test_many_clients_of_one_counter_lose_no_update(clients: list[Connection]) -> None:
    clients[0].result("CreateTable", TableName="counters", **KEYS)
    with ThreadPoolExecutor(CLIENTS) as pool:
        told = list(pool.map(add, clients))
    assert all(counts == sorted(counts) for counts in told)
    total = CLIENTS * ADDS_PER_CLIENT
    assert sorted(count for counts in told for count in counts) == list(range(1, total + 1))


def write_until_throttled(client: Connection) -> int:
    """Write until it is refused; return how many writes were admitted."""
    for admitted in range(2 * BURST):
        reply = client.call("PutItem", {"TableName": "metered", "Item": ITEM})
        if reply.error:
            assert reply.error == "ProvisionedThroughputExceededException"
            return admitted
    raise AssertionError("never throttled")


def test_workers_share_the_capacity_of_a_table(clients: list[Connection]) -> None:
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    settings = {**KEYS, "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
    began = time.monotonic()
    clients[0].result("CreateTable", TableName="metered", **settings)
    # One client alone, so that workers which know nothing of the table yet come later.
    admitted = write_until_throttled(clients[0])
    with ThreadPoolExecutor(CLIENTS) as pool:
        admitted += sum(pool.map(write_until_throttled, clients))
    seconds = time.monotonic() - began
    # Beyond burst and rate, only what is under way at the same time may be admitted.
    assert BURST <= admitted <= BURST + seconds + CLIENTS


def write_hot_item(client: Connection) -> int:
    """Write one large item again and again; return how often it was admitted."""
    item = {"id": {"S": "hot"}, "text": {"S": "x" * 1000 * HOT_UNITS}}
    replies = [client.call("PutItem", {"TableName": "hot", "Item": item}) for _ in range(HOT_PUTS)]
    errors = {reply.error for reply in replies if reply.status != 200}
    assert errors <= {"ThrottlingException"}
    return sum(reply.status == 200 for reply in replies)


def test_workers_share_the_ceiling_of_a_key_range(tmp_path: Path) -> None:
    flags = ("--workers", str(WORKERS), "--log-level", "error", "--capacity", "aws")
    served = Served(tmp_path / "data", *flags)
    served.start()
    clients = [Connection(served.port) for _ in range(CLIENTS)]
    try:
        clients[0].result("CreateTable", TableName="hot", **KEYS)
        began = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            admitted = sum(pool.map(write_hot_item, clients))
        seconds = time.monotonic() - began
        # A key range serves 1,000 units a second, and what is under way at the same time.
        assert 1 <= admitted <= (1 + seconds) * 1000 / HOT_UNITS + CLIENTS
    finally:
        for client in clients:
            client.close()
        served.close()


def test_a_change_of_a_table_is_seen_by_all_workers_at_once(clients: list[Connection]) -> None:
    first, *others = clients
    for number in range(TABLES):
        name = f"table{number % 3}"
        first.result("CreateTable", TableName=name, **KEYS)
        for client in others:
            client.result("PutItem", TableName=name, Item=ITEM)
        first.result(
            "UpdateTable",
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "kind", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": INDEX}],
        )
        others[0].result("PutItem", TableName=name, Item={**ITEM, "id": {"S": "two"}})
        for client in others:
            listed = client.result("DescribeTable", TableName=name)["Table"]
            assert [index["IndexName"] for index in listed["GlobalSecondaryIndexes"]] == ["by-kind"]
        first.result("DeleteTable", TableName=name)
        for client in others:
            reply = client.call("GetItem", {"TableName": name, "Key": {"id": {"S": "one"}}})
            assert reply.error == "ResourceNotFoundException"
            reply = client.call("PutItem", {"TableName": name, "Item": ITEM})
            assert reply.error == "ResourceNotFoundException"


def transfer(client: Connection, lane: int) -> None:
    """Move amounts round the accounts, and look at all of them at once now and then."""
    for number in range(TRANSFERS_PER_CLIENT):
        source, target = (lane + number) % ACCOUNTS, (lane * 3 + number * 5 + 1) % ACCOUNTS
        if source == target:
            continue
        request = {
            "TransactItems": [
                _change(source, -(number % 7), "balance >= :least"),
                _change(target, number % 7, ""),
            ]
        }
        reply = client.call("TransactWriteItems", request)
        assert reply.error in ("", "TransactionCanceledException"), reply.message
        if number % 5 == 0:
            gets = [{"Get": {"TableName": "accounts", "Key": _key(n)}} for n in range(ACCOUNTS)]
            found = client.result("TransactGetItems", TransactItems=gets)["Responses"]
            balances = [int(one["Item"]["balance"]["N"]) for one in found]
            assert sum(balances) == ACCOUNTS * BALANCE
            assert min(balances) >= 0


def _key(number: int) -> dict[str, Any]:
    return {"id": {"S": str(number)}}


def _change(number: int, amount: int, condition: str) -> dict[str, Any]:
    update: dict[str, Any] = {
        "TableName": "accounts",
        "Key": _key(number),
        "UpdateExpression": "ADD balance :amount",
        "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
    }
    if condition:
        update["ConditionExpression"] = condition
        update["ExpressionAttributeValues"][":least"] = {"N": str(-amount)}
    return {"Update": update}


def test_transactions_of_many_clients_leave_the_sum_alone(clients: list[Connection]) -> None:
    clients[0].result("CreateTable", TableName="accounts", **KEYS)
    for number in range(ACCOUNTS):
        item = {**_key(number), "balance": {"N": str(BALANCE)}}
        clients[0].result("PutItem", TableName="accounts", Item=item)
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(transfer, clients, range(CLIENTS)))
    total = sum(
        int(item["balance"]["N"]) for item in clients[0].pages("Scan", TableName="accounts")
    )
    assert total == ACCOUNTS * BALANCE
