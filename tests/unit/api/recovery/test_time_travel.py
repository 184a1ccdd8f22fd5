"""Reads at an earlier time."""

import random
from typing import Any

import pytest

from hashrange.clock import parse_time
from tests.harness.protected import TABLE, ProtectedTable, key_of

Model = dict[tuple[str, int], dict[str, Any]]


def write_randomly(table: ProtectedTable, rng: random.Random, model: Model) -> None:
    """Change one item of the table, and of the model."""
    p, s = rng.choice("abc"), rng.randrange(12)
    if rng.random() < 0.35:
        table.delete(p, s)
        model.pop((p, s), None)
        return
    value = str(rng.randrange(1000))
    table.put(p, s, v=value)
    model[p, s] = key_of(p, s) | {"v": {"S": value}}


def in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (item["p"]["S"], int(item["s"]["N"])))


def test_every_read_sees_the_table_as_it_was_at_any_second(table: ProtectedTable) -> None:
    rng = random.Random(7)
    model: Model = {}
    states: list[tuple[float, Model]] = []
    for _ in range(40):
        for _ in range(rng.randrange(4)):
            write_randomly(table, rng, model)
        states.append((table.clock.now(), dict(model)))
        table.clock.advance(1)
    for time, state in rng.sample(states, 12):
        assert in_order(table.scan(at=time)) == in_order(list(state.values()))
        assert in_order(table.scan(at=time, Limit=3)) == in_order(list(state.values()))
        p, s = rng.choice("abc"), rng.randrange(12)
        found = table.call("GetItem", time, TableName=TABLE, Key=key_of(p, s)).get("Item")
        assert found == state.get((p, s))
        for forward in (True, False):
            page = table.call(
                "Query",
                time,
                TableName=TABLE,
                KeyConditionExpression="p = :p AND s > :s",
                ExpressionAttributeValues={":p": {"S": p}, ":s": {"N": "2"}},
                ScanIndexForward=forward,
            )
            wanted = [state[p, s] for s in range(3, 12) if (p, s) in state]
            assert page["Items"] == wanted[:: 1 if forward else -1]


def test_an_item_with_many_versions_is_found_at_each_time(table: ProtectedTable) -> None:
    first = table.clock.now() + 1
    for number in range(300):
        table.clock.advance(1)
        table.put("a", 1, v=str(number))
    table.put("b", 1, v="other")
    table.delete("a", 1)
    for number in (0, 1, 15, 16, 17, 150, 298, 299):
        time = first + number if number < 299 else first + 298.5
        wanted = key_of("a", 1) | {"v": {"S": str(min(number, 298))}}
        assert table.call("GetItem", time, TableName=TABLE, Key=key_of("a", 1))["Item"] == wanted
        assert table.scan(at=time) == [wanted]
        backwards = table.call(
            "Query",
            time,
            TableName=TABLE,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "a"}},
            ScanIndexForward=False,
        )
        assert backwards["Items"] == [wanted]
    assert table.scan() == [key_of("b", 1) | {"v": {"S": "other"}}]


def test_pages_of_the_past_end_where_pages_of_the_present_would(table: ProtectedTable) -> None:
    for number in range(30):
        table.put("a", number, v="x" * 60_000)
    time = table.clock.now()
    table.clock.advance(1)
    pages = []
    start: dict[str, Any] = {}
    while True:
        page = table.call("Scan", TableName=TABLE, **start)
        pages.append((page["Count"], page.get("LastEvaluatedKey")))
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    for number in range(0, 30, 2):
        table.delete("a", number)
    start = {}
    for count, last in pages:
        page = table.call("Scan", time, TableName=TABLE, **start)
        assert (page["Count"], page.get("LastEvaluatedKey")) == (count, last)
        start = {"ExclusiveStartKey": last}


def test_what_cannot_be_read_at_an_earlier_time_is_refused(table: ProtectedTable) -> None:
    now = table.clock.now()
    assert table.refusal("Scan", "yesterday", TableName=TABLE) == (
        "ValidationException: X-Hashrange-At is a time such as 2026-01-31T12:00:00Z, or seconds "
        "since 1970, not yesterday"
    )
    assert table.refusal("UpdateItem", now, TableName=TABLE, Key=key_of("a", 1)) == (
        "ValidationException: X-Hashrange-At is for GetItem, Query, Scan, PutItem and DeleteItem, "
        "not for UpdateItem"
    )
    assert table.refusal("Scan", now - 1, TableName=TABLE) == (
        "InvalidRestoreTimeException: The time 2023-11-14T22:13:29.000+00:00 is not between "
        "2023-11-14T22:13:30.000+00:00 and 2023-11-14T22:13:30.000+00:00"
    )
    assert "InvalidRestoreTimeException" in table.refusal("Scan", now + 1, TableName=TABLE)
    table.protect(is_enabled=False)
    assert table.refusal("Scan", now, TableName=TABLE) == (
        "PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table "
        f"'{TABLE}'"
    )


def test_indexes_keep_no_history() -> None:
    index = {
        "IndexName": "by-s",
        "KeySchema": [{"AttributeName": "s", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    table = ProtectedTable(GlobalSecondaryIndexes=[index])
    assert table.refusal("Scan", table.clock.now(), TableName=TABLE, IndexName="by-s") == (
        "ValidationException: X-Hashrange-At reads tables; secondary indexes keep no history: by-s"
    )
    table.close()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1700000000", 1_700_000_000.0),
        ("1700000000.25", 1_700_000_000.25),
        ("2023-11-14T22:13:20Z", 1_700_000_000.0),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000.0),
        ("2023-11-14 22:13:20", 1_700_000_000.0),
    ],
)
def test_times_are_iso_8601_or_seconds(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["nan", "inf", "", "noon"])
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=text or "Invalid"):
        parse_time(text)
