"""The table client: automatic expressions, exact numbers, batches, pages, scans, transactions."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.retries import RetryPolicy
from hashrange.toolkit.client.tables import TableClient
from hashrange.toolkit.client.transactions import Transaction, transact_get
from hashrange.toolkit.design.patterns import begins_with, between
from hashrange.toolkit.errors import (
    AlreadyExists,
    ConditionFailed,
    ConversionError,
    DesignError,
    RequestRefused,
    Throttled,
    TransactionFailed,
    Unavailable,
)
from hashrange.toolkit.values import to_wire_item
from tests.harness.presence import there

SCHEMA = {
    "TableName": "App",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "PK", "AttributeType": "S"},
        {"AttributeName": "SK", "AttributeType": "S"},
    ],
}
KEY = {"PK": "USER#1", "SK": "PROFILE"}


@pytest.fixture
def table(service):
    service.create_table(**SCHEMA)
    return TableClient(service, "App")


class Failing:
    """A client whose first calls of each method fail with the given errors."""

    def __init__(self, client, *errors):
        self._client = client
        self._errors = list(errors)
        self.calls = 0

    def __getattr__(self, name):
        if name == "meta":
            raise AttributeError(name)

        def call(**parameters):
            self.calls += 1
            if self._errors:
                raise self._errors.pop(0)
            return getattr(self._client, name)(**parameters)

        return call


def refusal(code, **more):
    return ClientError({"Error": {"Code": code, "Message": "no"}, **more}, "Operation")


def patient(client, pauses, attempts=4):
    driver = SyncDriver(client, sleep=pauses.append)
    return TableClient(driver, "App", policy=RetryPolicy(attempts=attempts, jitter=lambda: 1.0))


def test_values_come_back_as_they_went_in(table):
    item = {
        **KEY,
        "whole": 12345678901234567890123456789012345678,
        "exact": Decimal("0.10000000000000000000000000000000000001"),
        "flag": False,
        "nothing": None,
        "bytes": b"\x00\xff",
        "texts": {"a", "b"},
        "numbers": {1, Decimal("2.5")},
        "nested": {"list": [1, {"deep": "x"}]},
    }
    table.put(item)
    assert table.get(KEY, consistent=True) == item


@pytest.mark.parametrize(
    "value", [0.1, Decimal("1E+126"), Decimal("NaN"), 10**38 + 1, set(), {1, "a"}, object()]
)
def test_a_value_without_an_exact_form_is_refused_before_anything_is_sent(table, value):
    with pytest.raises(ConversionError):
        table.put({**KEY, "value": value})
    assert table.get(KEY) is None


def test_floats_are_stored_as_the_shortest_equal_decimal_if_they_are_allowed(service):
    service.create_table(**SCHEMA)
    table = TableClient(service, "App", floats=True)
    table.put({**KEY, "total": 299.99})
    assert there(table.get(KEY))["total"] == Decimal("299.99")
    assert float(there(table.get(KEY))["total"]) == 299.99


def test_datetimes_are_stored_in_utc(table):
    table.put({**KEY, "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)})
    assert table.get(KEY)["at"] == "2026-01-02T03:04:05.000000Z"
    with pytest.raises(DesignError, match="time zone"):
        table.put({**KEY, "at": datetime(2026, 1, 2)})


@pytest.mark.beyond_moto
def test_an_update_needs_no_expression_and_no_names(table):
    table.put({**KEY, "status": "new", "size": 3, "colours": {"red", "blue"}, "old": 1})
    changed = table.update(
        KEY,
        set={"status": "open", "name": "Alice", "user-id": 5},
        add={"size": 4},
        remove=["old"],
        delete={"colours": {"red"}},
        condition="status = :before AND size(name) < :most OR attribute_not_exists(name)",
        values={"before": "new", "most": 9},
    )
    assert changed == {
        **KEY,
        "status": "open",
        "name": "Alice",
        "user-id": 5,
        "size": 7,
        "colours": {"blue"},
    }


@pytest.mark.beyond_moto
def test_a_document_path_is_updated_in_place(table):
    table.put({**KEY, "address": {"lines": ["a", "b"]}})
    table.update(KEY, set={"address.lines[1]": "c"})
    assert table.get(KEY, projection=["address.lines[1]"]) == {"address": {"lines": ["c"]}}


def test_an_expression_may_be_written_by_hand_with_plain_names(table):
    table.put({**KEY, "balance": 10})
    after = table.update_by(KEY, "SET balance = balance-:amount", amount=4)
    assert after["balance"] == 6


def test_a_parameter_that_is_missing_is_named(table):
    with pytest.raises(DesignError, match=":amount"):
        table.update_by(KEY, "SET balance = :amount")


def test_a_condition_that_fails_shows_the_item(table):
    table.put({**KEY, "version": 3})
    with pytest.raises(ConditionFailed) as failed:
        table.put({**KEY, "version": 2}, condition="version < :new", values={"new": 2})
    assert failed.value.item == {**KEY, "version": 3}


def test_create_refuses_an_item_that_exists(table):
    table.create(KEY)
    with pytest.raises(AlreadyExists):
        table.create(KEY)


def test_put_and_delete_return_what_was_there(table):
    assert table.put({**KEY, "n": 1}) is None
    assert table.put({**KEY, "n": 2}) == {**KEY, "n": 1}
    assert table.delete(KEY) == {**KEY, "n": 2}
    assert table.delete(KEY) is None


def fill(table, count, owner="USER#1"):
    table.batch_write({"PK": owner, "SK": f"ORDER#{at:04}", "n": at} for at in range(count))


def test_any_number_of_items_is_written_and_read_in_batches(table):
    fill(table, 260)
    keys = [{"PK": "USER#1", "SK": f"ORDER#{at:04}"} for at in range(300)]
    assert len(table.batch_get(keys + keys)) == 260
    table.batch_write(puts=[{**keys[0], "n": -1}], deletes=keys[1:])
    assert [item["n"] for item in table.scan()] == [-1]


def test_of_several_writes_to_one_key_in_a_batch_the_last_one_counts(table):
    table.batch_write([{**KEY, "n": 1}, {**KEY, "n": 2}])
    assert table.get(KEY)["n"] == 2


def test_unprocessed_items_are_sent_again_after_a_pause(service):
    service.create_table(**SCHEMA)

    class Half(Failing):
        def batch_write_item(self, RequestItems):  # noqa: N803 - as boto3 calls it
            self.calls += 1
            entries = RequestItems["App"]
            service.batch_write_item(RequestItems={"App": entries[:10]})
            left = entries[10:]
            return {"UnprocessedItems": {"App": left} if left else {}}

        def batch_get_item(self, RequestItems):  # noqa: N803 - as boto3 calls it
            keys = RequestItems["App"]["Keys"]
            answer = service.batch_get_item(RequestItems={"App": {"Keys": keys[:1]}})
            answer["UnprocessedKeys"] = {"App": {"Keys": keys[1:]}} if keys[1:] else {}
            return answer

    pauses: list[Any] = []
    table = patient(Half(service), pauses)
    fill(table, 25)
    assert pauses == [0.05, 0.1]
    keys = [{"PK": "USER#1", "SK": f"ORDER#{at:04}"} for at in range(20)]
    assert len(table.batch_get(keys)) == 20
    with pytest.raises(Throttled, match="10 writes"):
        fill(patient(Half(service), [], attempts=1), 20)


def test_pages_are_iterated_and_resumed_by_cursor(table):
    fill(table, 25)
    orders = table.query({"PK": "USER#1", "SK": begins_with("ORDER#")}, newest_first=True)
    assert [item["n"] for item in orders] == list(range(24, -1, -1))
    first = orders.page(size=10)
    second = orders.page(first.cursor, size=10)
    last = orders.page(second.cursor, size=10)
    assert [len(first), len(second), len(last)] == [10, 10, 5]
    assert [item["n"] for item in second] == list(range(14, 4, -1))
    assert last.cursor is None
    assert orders.first()["n"] == 24


def test_a_limit_bounds_an_iteration_even_with_a_filter(table):
    fill(table, 25)
    odd = table.query("PK = :pk", filter="n > :n", values={"pk": "USER#1", "n": 9}, limit=7)
    assert [item["n"] for item in odd] == list(range(10, 17))
    ranged = table.query({"PK": "USER#1", "SK": between("ORDER#0003", "ORDER#0005")})
    assert [item["n"] for item in ranged] == [3, 4, 5]


def test_a_filter_does_not_make_a_request_for_every_item(service):
    service.create_table(**SCHEMA)
    counting = Failing(service)
    table = TableClient(counting, "App")
    fill(table, 60)
    before = counting.calls
    last = table.query("PK = :pk", filter="n = :n", values={"pk": "USER#1", "n": 59}).first()
    assert there(last)["n"] == 59
    assert counting.calls == before + 1


def test_an_unknown_option_is_refused(table):
    for call in (table.query, table.scan, table.parallel_scan):
        arguments = [{"PK": "x"}] if call == table.query else []
        with pytest.raises(TypeError, match="unknown options: newst_first"):
            call(*arguments, newst_first=True)


def test_a_damaged_cursor_is_refused(table):
    with pytest.raises(DesignError, match="damaged"):
        table.scan().page("nonsense")


def test_a_parallel_scan_reports_its_progress(table):
    for at in range(40):
        fill(table, 3, f"USER#{at}")
    seen: list[Any] = []
    found = list(table.parallel_scan(4, on_progress=seen.append, page=5))
    assert len({(item["PK"], item["SK"]) for item in found}) == len(found) == 120
    assert seen[-1].is_done
    assert seen[-1].items == 120
    assert seen[-1].read_units > 0
    assert len(seen) > 2


@pytest.mark.parametrize(
    "error",
    [
        refusal("ProvisionedThroughputExceededException"),
        refusal("ThrottlingException"),
        refusal("InternalServerError"),
        EndpointConnectionError(endpoint_url="http://nowhere"),
    ],
    ids=lambda error: type(error).__name__ + getattr(error, "response", {}).get("x", ""),
)
def test_a_passing_failure_is_tried_again_with_growing_pauses(service, error):
    service.create_table(**SCHEMA)
    pauses: list[Any] = []
    table = patient(Failing(service, error, error), pauses)
    table.put({**KEY})
    assert pauses == [0.05, 0.1]


def test_the_last_attempt_raises_an_error_of_the_toolkit(service):
    throttled = Failing(service, *[refusal("ThrottlingException")] * 4)
    with pytest.raises(Throttled):
        patient(throttled, []).get(KEY)
    lost = Failing(service, *[refusal("InternalServerError")] * 4)
    with pytest.raises(Unavailable):
        patient(lost, []).get(KEY)


def test_a_refusal_is_not_tried_again(service):
    client = Failing(service, refusal("ValidationException"))
    with pytest.raises(RequestRefused) as refused:
        patient(client, []).get(KEY)
    assert refused.value.code == "ValidationException"
    assert client.calls == 1


def test_an_increment_that_was_never_sent_is_repeated(service):
    service.create_table(**SCHEMA)
    client = Failing(service, EndpointConnectionError(endpoint_url="http://nowhere"))
    assert patient(client, []).update(KEY, add={"n": 1})["n"] == 1


def test_an_increment_whose_answer_was_lost_is_not_repeated(service):
    service.create_table(**SCHEMA)
    lost = ReadTimeoutError(endpoint_url="http://nowhere")
    client = Failing(service, lost)
    with pytest.raises(Unavailable):
        patient(client, []).update(KEY, add={"n": 1})
    assert client.calls == 1
    client = Failing(service, lost)
    patient(client, []).update(KEY, set={"n": 1})
    assert client.calls == 2


def test_a_transaction_says_which_step_failed_and_why(table):
    table.put({**KEY, "balance": 5})
    transfer = Transaction()
    transfer.update(
        "App",
        KEY,
        "SET balance = balance - :amount",
        condition="balance >= :amount",
        values={"amount": 10},
        message="insufficient funds",
    )
    transfer.put("App", {"PK": "TX#1", "SK": "TX"}, condition="attribute_not_exists(PK)")
    with pytest.raises(TransactionFailed) as failed:
        table.transact(transfer)
    (reason,) = failed.value.reasons
    assert str(reason) == "step 1 (Update on App): ConditionalCheckFailed: insufficient funds"
    assert reason.item == {**KEY, "balance": 5}
    assert failed.value.reason_of(1) is None
    assert table.get({"PK": "TX#1", "SK": "TX"}) is None


def test_a_transaction_that_met_another_one_is_tried_again(service):
    service.create_table(**SCHEMA)
    conflict = refusal(
        "TransactionCanceledException",
        CancellationReasons=[{"Code": "None"}, {"Code": "TransactionConflict"}],
    )
    pauses: list[Any] = []
    policy = RetryPolicy(attempts=3, jitter=lambda: 1.0)
    client = Failing(service, conflict)
    transaction = Transaction(policy=policy).put("App", {**KEY, "n": 1})
    SyncDriver(client, sleep=pauses.append).run(transaction.plan())
    assert client.calls == 2
    assert len(pauses) == 1


def test_items_are_read_together_as_they_are_at_one_moment(table):
    table.put({**KEY, "n": 1})
    plan = transact_get([("App", KEY), ("App", {"PK": "no", "SK": "no"})])
    assert table.driver.run(plan) == [to_wire_item({**KEY, "n": 1}), None]


def test_a_resource_and_its_table_serve_as_clients_and_stay_as_they_were(dynamodb):
    resource = dynamodb.resource()
    resource.create_table(**SCHEMA)
    for client in (resource, resource.Table("App")):
        table = TableClient(client, "App")
        table.put({**KEY, "n": 1})
        assert table.get(KEY) == {**KEY, "n": 1}
    assert resource.Table("App").get_item(Key=KEY)["Item"] == {**KEY, "n": Decimal(1)}
