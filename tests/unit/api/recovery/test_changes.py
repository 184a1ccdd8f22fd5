"""Changes of an interval, and writes that must not overwrite newer ones."""

import asyncio
import json
from typing import Any

import pytest

from hashrange.api.recovery.changes import POSITION
from tests.harness.calls import json_request
from tests.harness.guarded import KEY, USER, GuardedSite, allow, games
from tests.harness.protected import TABLE, ProtectedTable, key_of

EVERYTHING = "/"


def query(table: ProtectedTable, p: str, between: str = EVERYTHING, **more: Any) -> dict[str, Any]:
    values = {":p": {"S": p}}
    return table.call(
        "Query",
        between,
        TableName=TABLE,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues=values,
        **more,
    )


def told(change: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """Return the kind of a change, and the value before and after it."""
    images = [change.get(name, {}).get("M", {}).get("v", {}).get("S") for name in ("Old", "New")]
    return change["Kind"]["S"], images[0], images[1]


def write_a_life(table: ProtectedTable) -> list[float]:
    """Insert, change, delete and insert an item; return the times."""
    times = []
    for value in ("1", "2", None, "3"):
        table.clock.advance(10)
        times.append(table.clock.now())
        if value is None:
            table.delete("a", 1)
        else:
            table.put("a", 1, v=value)
    return times


def test_all_changes_of_an_item_have_what_was_before_and_after(table: ProtectedTable) -> None:
    times = write_a_life(table)
    table.put("b", 1, v="other")
    changes = query(table, "a")["Items"]
    assert [told(change) for change in changes] == [
        ("INSERT", None, "1"),
        ("MODIFY", "1", "2"),
        ("REMOVE", "2", None),
        ("INSERT", None, "3"),
    ]
    assert [float(change["Time"]["N"]) for change in changes] == times
    assert all(change["Key"]["M"] == key_of("a", 1) for change in changes)
    assert not any("By" in change for change in changes)
    backwards = query(table, "a", ScanIndexForward=False)["Items"]
    assert backwards == changes[::-1]


def test_an_interval_is_open_at_its_beginning_and_closed_at_its_end(table: ProtectedTable) -> None:
    times = write_a_life(table)
    found = table.scan(f"{times[0]}/{times[2]}")
    assert [told(change) for change in found] == [("MODIFY", "1", "2"), ("REMOVE", "2", None)]
    assert len(table.scan(f"{times[2]}/")) == 1
    assert len(table.scan(f"/{times[2]}")) == 3


@pytest.mark.parametrize("limit", [1, 2, 7, 300])
@pytest.mark.parametrize("forward", [True, False])
def test_pages_go_on_at_the_next_change(table: ProtectedTable, limit: int, forward: bool) -> None:
    for number in range(5):
        for p in "ab":
            table.put(p, number % 2, v=str(number))
    whole = query(table, "a", ScanIndexForward=forward)
    assert len(whole["Items"]) == 5
    assert "LastEvaluatedKey" not in whole
    found: list[Any] = []
    start: dict[str, Any] = {}
    while True:
        page = query(table, "a", ScanIndexForward=forward, Limit=limit, **start)
        found += page["Items"]
        assert page["Count"] <= limit
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert found == whole["Items"]
    assert sorted(map(told, table.scan(EVERYTHING, Limit=limit))) == sorted(
        map(told, table.scan(EVERYTHING))
    )


def test_a_page_of_large_changes_ends_at_a_megabyte(table: ProtectedTable) -> None:
    for number in range(12):
        table.put("a", 1, v=str(number) * 100_000)
    page = query(table, "a")
    assert page["LastEvaluatedKey"].keys() == {"p", "s", POSITION}
    assert 4 <= page["Count"] < 12
    assert len(table.scan(EVERYTHING)) == 12


def test_changes_of_many_items_equal_a_model(table: ProtectedTable) -> None:
    wanted: list[tuple[str, str | None, str | None]] = []
    state: dict[tuple[str, int], str] = {}
    for number in range(600):
        place = ("abc"[number % 3], number % 7)
        if number % 5 == 4:
            if place in state:
                wanted.append(("REMOVE", state.pop(place), None))
            table.delete(*place)
            continue
        kind = "MODIFY" if place in state else "INSERT"
        wanted.append((kind, state.get(place), str(number)))
        state[place] = str(number)
        table.put(*place, v=str(number))
    assert sorted(map(str, map(told, table.scan(EVERYTHING)))) == sorted(map(str, wanted))


def test_what_is_meant_for_items_is_refused(table: ProtectedTable) -> None:
    table.put("a", 1)
    assert table.refusal(
        "Scan", EVERYTHING, TableName=TABLE, FilterExpression="attribute_exists(p)"
    ) == (
        "ValidationException: X-Hashrange-At with an interval shows changes, without "
        "FilterExpression"
    )
    assert table.refusal("GetItem", EVERYTHING, TableName=TABLE, Key=key_of("a", 1)) == (
        "ValidationException: X-Hashrange-At has an interval for Query and Scan, not GetItem"
    )
    for start in (
        key_of("a", 1),
        key_of("a", 1) | {POSITION: {"N": "-1"}},
        key_of("a", 1) | {POSITION: {"N": "9223372036854775808"}},
        {"p": {"S": "a"}, "s": {"S": "x"}, POSITION: {"N": "1"}},
    ):
        refusal = table.refusal("Scan", EVERYTHING, TableName=TABLE, ExclusiveStartKey=start)
        assert refusal == "ValidationException: The provided starting key is invalid"
    early = table.clock.now() - 1000
    assert "InvalidRestoreTime" in table.refusal("Scan", f"{early}/", TableName=TABLE)
    assert "not noon/" in table.refusal("Scan", "noon/", TableName=TABLE)


def test_a_write_fails_if_the_item_changed_after_the_time_it_names(table: ProtectedTable) -> None:
    table.put("a", 1, v="1")
    seen = table.clock.now()
    table.clock.advance(1)
    item = key_of("a", 1) | {"v": {"S": "mine"}}
    table.call("PutItem", seen, TableName=TABLE, Item=item)
    failed = "ConditionalCheckFailedException: The conditional request failed"
    assert table.refusal("PutItem", seen, TableName=TABLE, Item=item) == failed
    assert table.refusal("DeleteItem", seen, TableName=TABLE, Key=key_of("a", 1)) == failed
    table.call("DeleteItem", table.clock.now(), TableName=TABLE, Key=key_of("a", 1))
    assert table.scan() == []
    # An item that was absent then, and is now.
    assert table.refusal("PutItem", seen, TableName=TABLE, Item=item) == failed
    table.clock.advance(1)
    table.call("PutItem", table.clock.now(), TableName=TABLE, Item=item)


def test_the_condition_of_the_request_counts_too(table: ProtectedTable) -> None:
    table.put("a", 1, v="1")
    request = {"TableName": TABLE, "Item": key_of("a", 1)}
    condition = "attribute_not_exists(p)"
    now = table.clock.now()
    assert "ConditionalCheckFailed" in table.refusal(
        "PutItem", now, **request, ConditionExpression=condition
    )
    table.call("PutItem", now, **request, ConditionExpression="attribute_exists(p)")


def test_changes_name_the_principal_of_a_server_that_knows_it() -> None:
    site = GuardedSite()
    site.call("CreateTable", **games())
    wanted = {"PointInTimeRecoveryEnabled": True}
    site.call("UpdateContinuousBackups", TableName="games", PointInTimeRecoverySpecification=wanted)
    site.be(allow())
    site.call("PutItem", TableName="games", Item=KEY)
    site.call("UpdateItem", TableName="games", Key=KEY, UpdateExpression="SET a = p")
    put = {"Put": {"TableName": "games", "Item": KEY}}
    site.call("TransactWriteItems", TransactItems=[put])
    delete = {"DeleteRequest": {"Key": KEY}}
    site.call("BatchWriteItem", RequestItems={"games": [delete]})
    site.call("ExecuteStatement", Statement="INSERT INTO games VALUE {'p': 'a', 's': '1'}")
    site.call("DeleteItem", TableName="games", Key=KEY)
    body = json.dumps({"TableName": "games"}).encode()
    sent = json_request("DynamoDB_20120810.Scan", body, x_hashrange_at="/")
    changes = json.loads(asyncio.run(site.database.answer(sent)).body)["Items"]
    assert [change["By"] for change in changes] == [{"S": USER}] * 6
