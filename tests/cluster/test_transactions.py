"""What others see and do while a transaction is under way, or when its coordinator was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.engine.memory.faults import Rates
from hashrange.limits import CLIENT_TOKEN_SECONDS, TRANSACTION_SECONDS_MAX
from hashrange.storage.ledger import COMMITTED, LEDGER, LEDGER_SHARDS, PENDING, unpack_entry
from tests.cluster.bank import MONEY, Bank, Failure, key_of, move

# Nothing fails, but every call lets others go first, so that a process can be stopped anywhere.
STOPPABLE = Rates(0, 0, 0, delay=1.0, repeat=0, stale=0, lost_lease=0)
LEFT, RIGHT = ("left", "account 0"), ("right", "account 1")


class Site:
    """A bank with one transfer in it."""

    def __init__(self) -> None:
        self.bank = Bank(0, STOPPABLE)
        self.scheduler = self.bank.scheduler
        self.finish = self.scheduler.finish

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.finish(self.bank.call(1, operation, **request))
        return answer

    def refusal(self, operation: str, **request: Any) -> str:
        with pytest.raises(Failure) as caught:
            self.call(operation, **request)
        return f"{caught.value.kind}: {caught.value.args[1]}"

    def transfer(self, token: str | None = None) -> Any:
        """Return a transfer of 5 from one table to the other, not begun yet."""
        more = {} if token is None else {"ClientRequestToken": token}
        return self.bank.call(0, "TransactWriteItems", TransactItems=self.actions(), **more)

    def actions(self) -> list[dict[str, Any]]:
        return [
            {"Update": move(LEFT, "t", -5, "money >= :least", 5)},
            {"Update": move(RIGHT, "t", 5, "attribute_exists(p)", None)},
        ]

    def drive(self, process: Any, until: Callable[[], bool]) -> None:
        """Run a process until something is so, then kill it."""
        try:
            while not until():
                process.send(None)
        finally:
            process.close()

    def states(self) -> list[int]:
        """Return the states of all ledger entries."""
        rows = [
            row
            for shard in range(LEDGER_SHARDS)
            for row in self.finish(self.bank.rows(LEDGER, shard))
        ]
        return [unpack_entry(value).state for _, value in rows]

    def locks(self) -> int:
        shards = range(self.bank.engine.capabilities.shards)
        stores = [store for store in self.bank.engine.stores() if store.endswith(".k")]
        return sum(
            len(self.finish(self.bank.rows(store, shard))) for store in stores for shard in shards
        )

    def money(self, *, consistent: bool = True) -> list[int]:
        """Return what the two accounts have."""
        return [
            int(
                self.call("GetItem", TableName=table, Key=key_of(name), ConsistentRead=consistent)[
                    "Item"
                ]["money"]["N"]
            )
            for table, name in (LEFT, RIGHT)
        ]

    def touch(self, account: tuple[str, str]) -> dict[str, Any]:
        return {
            "TableName": account[0],
            "Key": key_of(account[1]),
            "UpdateExpression": "ADD visits :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }

    def settle_and_check(self) -> list[int]:
        """Bring everything to rest, check it, and return what the two accounts have."""
        self.finish(self.bank.settle())
        self.finish(self.bank.check())
        return self.money()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    with made.scheduler:
        made.finish(made.bank.open())
        yield made


BEFORE, AFTER = [MONEY, MONEY], [MONEY - 5, MONEY + 5]


def prepared(site: Site) -> None:
    """Leave a transaction behind that has locked its items, and is not decided."""
    site.drive(site.transfer(), lambda: site.locks() == 2)
    assert site.states() == [PENDING]


def committed(site: Site, token: str | None = None) -> None:
    """Leave a transaction behind that is committed, and of which nothing is applied."""
    site.drive(site.transfer(token), lambda: site.states() == [COMMITTED])
    assert site.locks() == 2


def test_a_write_to_an_item_of_a_transaction_in_progress_conflicts(site: Site) -> None:
    prepared(site)
    refused = site.refusal("UpdateItem", **site.touch(LEFT))
    assert refused.startswith("TransactionConflictException")
    assert "Transaction is ongoing for the item" in refused
    other = {"Put": {"TableName": "left", "Item": key_of("account 4")}}
    refused = site.refusal("TransactWriteItems", TransactItems=[*site.actions()[:1], other])
    assert "[TransactionConflict, None]" in refused


def test_a_batch_leaves_items_of_a_transaction_in_progress_unprocessed(site: Site) -> None:
    prepared(site)
    puts = [{"PutRequest": {"Item": key_of(name)}} for name in ("account 0", "new")]
    answer = site.call("BatchWriteItem", RequestItems={"left": puts})
    left = [part["PutRequest"]["Item"] for part in answer["UnprocessedItems"]["left"]]
    assert key_of("account 0") in left


def test_reads_do_not_wait_for_a_transaction_in_progress_but_transactions_conflict(
    site: Site,
) -> None:
    prepared(site)
    assert site.money() == BEFORE
    assert site.money(consistent=False) == BEFORE
    gets = [{"Get": {"TableName": table, "Key": key_of(name)}} for table, name in (LEFT, RIGHT)]
    refused = site.refusal("TransactGetItems", TransactItems=gets)
    assert "[TransactionConflict, TransactionConflict]" in refused


def test_an_overdue_transaction_is_undone_by_whoever_meets_it(site: Site) -> None:
    prepared(site)
    site.bank.clock.advance(TRANSACTION_SECONDS_MAX + 1)
    site.call("UpdateItem", **site.touch(LEFT))
    assert site.money() == BEFORE
    assert site.settle_and_check() == BEFORE


def test_a_committed_transaction_is_seen_by_strong_reads_before_it_is_applied(site: Site) -> None:
    committed(site)
    assert site.money() == AFTER
    assert site.money(consistent=False) == BEFORE
    assert site.locks() == 2


def test_a_committed_transaction_is_seen_by_strong_queries_and_scans(site: Site) -> None:
    committed(site)

    def queried(table: str, name: str, **more: Any) -> int:
        values = {":p": key_of(name)["p"]}
        answer = site.call(
            "Query",
            TableName=table,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues=values,
            **more,
        )
        return int(answer["Items"][0]["money"]["N"])

    assert queried(*LEFT) == MONEY
    assert queried(*RIGHT, ConsistentRead=True, IndexName="local") == MONEY + 5
    assert queried(*RIGHT, ConsistentRead=True) == MONEY + 5
    assert site.locks() == 1
    found = site.call("Scan", TableName="left", ConsistentRead=True)["Items"]
    amounts = [int(item["money"]["N"]) for item in found if item["p"] == key_of(LEFT[1])["p"]]
    assert amounts == [MONEY - 5]
    assert site.settle_and_check() == AFTER


def test_a_strong_query_does_not_wait_for_a_transaction_in_progress(site: Site) -> None:
    prepared(site)
    found = site.call("Scan", TableName="left", ConsistentRead=True)["Items"]
    assert {int(item["money"]["N"]) for item in found if "money" in item} == {MONEY}
    assert site.locks() == 2


def test_a_committed_transaction_is_finished_by_whoever_meets_it(site: Site) -> None:
    committed(site)
    site.call("UpdateItem", **site.touch(LEFT))
    assert site.locks() == 1
    gets = [{"Get": {"TableName": table, "Key": key_of(name)}} for table, name in (LEFT, RIGHT)]
    answer = site.call("TransactGetItems", TransactItems=gets)
    assert [int(part["Item"]["money"]["N"]) for part in answer["Responses"]] == AFTER
    assert site.locks() == 0
    assert site.settle_and_check() == AFTER


def test_a_repeated_token_is_carried_out_once_even_if_its_coordinator_was_killed(
    site: Site,
) -> None:
    committed(site, "token")
    site.finish(site.transfer("token"))
    site.finish(site.transfer("token"))
    assert site.money() == AFTER
    assert site.settle_and_check() == AFTER


def test_a_token_of_a_transaction_in_progress_has_to_wait_until_that_is_overdue(
    site: Site,
) -> None:
    site.drive(site.transfer("token"), lambda: site.locks() == 1)
    request = {"TransactItems": site.actions(), "ClientRequestToken": "token"}
    refused = site.refusal("TransactWriteItems", **request)
    assert refused.startswith("TransactionInProgressException")
    site.bank.clock.advance(TRANSACTION_SECONDS_MAX + 1)
    site.call("TransactWriteItems", **request)
    assert site.settle_and_check() == AFTER


def test_another_request_with_the_same_token_is_refused(site: Site) -> None:
    site.finish(site.transfer("token"))
    refused = site.refusal(
        "TransactWriteItems", TransactItems=site.actions()[:1], ClientRequestToken="token"
    )
    assert refused.startswith("IdempotentParameterMismatchException")


def test_a_failed_transaction_does_not_use_up_its_token(site: Site) -> None:
    site.call("UpdateItem", **site.touch(LEFT) | {"UpdateExpression": "SET money = :one"})
    request = {"TransactItems": site.actions(), "ClientRequestToken": "token"}
    assert "[ConditionalCheckFailed, None]" in site.refusal("TransactWriteItems", **request)
    assert site.states() == []
    site.call("UpdateItem", **site.touch(LEFT) | {"UpdateExpression": "ADD money :one"})
    refill = {":one": {"N": str(MONEY - 2)}}
    site.call(
        "UpdateItem",
        **site.touch(LEFT)
        | {"UpdateExpression": "ADD money :one", "ExpressionAttributeValues": refill},
    )
    site.call("TransactWriteItems", **request)
    assert site.money() == AFTER


def test_tokens_are_forgotten_after_their_time(site: Site) -> None:
    site.finish(site.transfer("token"))
    assert len(site.states()) == 1
    site.bank.clock.advance(3 * CLIENT_TOKEN_SECONDS)
    assert site.settle_and_check() == AFTER
    assert site.states() == []


def test_a_transaction_in_one_shard_needs_no_ledger(site: Site) -> None:
    item = {"Put": {"TableName": "left", "Item": key_of("lonely")}}
    process = site.bank.call(0, "TransactWriteItems", TransactItems=[item])
    entries: set[int] = set()

    def note_entries() -> bool:
        entries.update(site.states())
        return False

    with pytest.raises(StopIteration):
        site.drive(process, note_entries)
    assert not entries
    assert site.call("GetItem", TableName="left", Key=key_of("lonely"))["Item"]


@pytest.mark.parametrize("token", [None, "token"])
def test_a_coordinator_may_be_killed_at_any_point(token: str | None) -> None:
    """Kill it after one step, after two, and so on; what it began is finished or undone."""
    seen: set[Any] = set()
    for steps in range(1, 400):
        site = Site()
        with site.scheduler:
            site.finish(site.bank.open())
            process = site.transfer(token)
            try:
                for _ in range(steps):
                    process.send(None)
                process.close()
            except StopIteration:
                assert site.settle_and_check() == AFTER
                assert seen == {tuple(BEFORE), tuple(AFTER)}
                return
            money = site.settle_and_check()
            assert money in (BEFORE, AFTER)
            seen.add(tuple(money))
    raise AssertionError("the transaction has more steps than expected")
