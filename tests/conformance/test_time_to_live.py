"""The setting of time to live, and, where items expire at once, its effect."""

import time
from typing import Any

import pytest

from tests.conformance.conftest import Refused, Tables, eventually

ON = {"AttributeName": "expires", "Enabled": True}
OFF = {"AttributeName": "expires", "Enabled": False}
# On AWS this takes days.
EXPIRY_SECONDS_MAX = 10.0


def status(client: Any, table: str) -> dict[str, Any]:
    description: dict[str, Any] = client.describe_time_to_live(TableName=table)
    return dict(description["TimeToLiveDescription"])


def test_a_new_table_has_none(client: Any, hash_table: str) -> None:
    assert status(client, hash_table) == {"TimeToLiveStatus": "DISABLED"}


def test_enabling_answers_with_the_specification(client: Any, hash_table: str) -> None:
    answer = client.update_time_to_live(TableName=hash_table, TimeToLiveSpecification=ON)
    assert answer["TimeToLiveSpecification"] == ON
    described = status(client, hash_table)
    assert described["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    assert described["AttributeName"] == "expires"


def test_disabling_what_is_disabled_is_refused(
    client: Any, hash_table: str, refused: Refused
) -> None:
    with refused("ValidationException", "TimeToLive is already disabled"):
        client.update_time_to_live(TableName=hash_table, TimeToLiveSpecification=OFF)


def test_a_table_that_is_not_there_is_named(client: Any, refused: Refused) -> None:
    message = "Requested resource not found: Table: not-there not found"
    with refused("ResourceNotFoundException", message):
        client.update_time_to_live(TableName="not-there", TimeToLiveSpecification=ON)
    with refused("ResourceNotFoundException", message):
        client.describe_time_to_live(TableName="not-there")


def test_the_specification_must_be_whole(client: Any, hash_table: str, refused: Refused) -> None:
    for specification in ({"Enabled": True}, {"AttributeName": "x"}, {}):
        request = {"TableName": hash_table, "TimeToLiveSpecification": specification}
        with pytest.raises(client.exceptions.ClientError) as caught:
            client.update_time_to_live(**request)
        assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_expired_items_leave_table_and_indexes(
    client: Any, tables: Tables, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--url", default=None):
        pytest.skip("other servers let items expire in their own time")
    table = tables.create(
        "p:S", "r:S", local={"local": ("p:S", "q:S")}, indexes={"global": ("q:S",)}
    )
    client.update_time_to_live(TableName=table, TimeToLiveSpecification=ON)
    now = int(time.time())
    values = {
        "past": {"N": str(now - 60)},
        "soon": {"N": str(now + 1)},
        "string": {"S": str(now - 60)},
        "milliseconds": {"N": str((now - 60) * 1000)},
        "long past": {"N": str(now - 6 * 366 * 86400)},
        "future": {"N": str(now + 3600)},
    }
    for name, value in values.items():
        item = {"p": {"S": "p"}, "r": {"S": name}, "q": {"S": "q"}, "expires": value}
        client.put_item(TableName=table, Item=item)
    left = ["future", "long past", "milliseconds", "string"]
    deadline = time.monotonic() + EXPIRY_SECONDS_MAX
    while names(client, table) != left and time.monotonic() < deadline:
        time.sleep(0.02)
    assert names(client, table) == left
    assert names(client, table, IndexName="local") == left
    eventually(lambda: names(client, table, IndexName="global") == left)


def names(client: Any, table: str, **options: str) -> list[str]:
    items = client.scan(TableName=table, **options)["Items"]
    return sorted(item["r"]["S"] for item in items)
