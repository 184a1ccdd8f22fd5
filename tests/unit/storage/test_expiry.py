"""When an item expires, and what becomes of its expiry row."""

from typing import Any

import pytest

from hashrange.engine.base import Changes
from hashrange.limits import EXPIRED_SECONDS_MAX
from hashrange.model.keys import item_key
from hashrange.model.schema import KeyPart, Table
from hashrange.storage.expiry import change_expiry, expired_seconds, expiry_key, expiry_second

NOW = 1_800_000_000

TABLE = Table(
    "table",
    id="",
    account="",
    region="",
    store="t1",
    partition=KeyPart("a", "S"),
    sort=None,
    indexes=(),
    key_types={"a": "S"},
    version=0,
    time_to_live="expires",
)


@pytest.mark.parametrize(
    ("value", "second"),
    [
        ({"N": "1800000000"}, 1_800_000_000),
        ({"N": "0"}, 0),
        ({"N": "1800000000.5"}, 1_800_000_001),
        ({"N": "0.000001"}, 1),
        ({"N": "1800000000000"}, 1_800_000_000_000),  # milliseconds: in the far future
        ({"N": "9" * 18}, 10**18 - 1),
        ({"N": "1" + "0" * 18}, None),
        ({"N": "1" + "0" * 125}, None),
        ({"N": "-1"}, None),
        ({"N": "-1.5"}, None),
        ({"S": "1800000000"}, None),
        ({"B": "MTgwMDAwMDAwMA=="}, None),
        ({"NS": ["1800000000"]}, None),
        ({"L": [{"N": "1800000000"}]}, None),
        ({"M": {"N": {"N": "1800000000"}}}, None),
        ({"BOOL": True}, None),
        ({"NULL": True}, None),
        (None, None),
    ],
)
def test_only_numbers_of_seconds_are_times(
    value: dict[str, Any] | None, second: int | None
) -> None:
    assert expiry_second(value) == second


def test_an_item_is_expired_when_its_time_is_less_than_the_present() -> None:
    assert NOW - 1 in expired_seconds(NOW)
    assert NOW not in expired_seconds(NOW)
    assert NOW in expired_seconds(NOW + 0.001)
    assert NOW + 1 not in expired_seconds(NOW + 0.999)


def test_what_expired_more_than_five_years_ago_is_left_alone() -> None:
    oldest = NOW - EXPIRED_SECONDS_MAX
    assert oldest in expired_seconds(NOW)
    assert oldest - 1 not in expired_seconds(NOW)
    assert oldest not in expired_seconds(NOW + 0.001)


def test_a_clock_before_the_epoch_expires_nothing() -> None:
    assert not expired_seconds(-5.0)
    assert not expired_seconds(0.0)
    assert list(expired_seconds(1.5)) == [0, 1]


def test_expiry_keys_are_in_the_order_of_expiry() -> None:
    keys = [expiry_key(second, b"key") for second in (0, 1, 255, 256, NOW, NOW * 1000)]
    assert keys == sorted(keys)


def test_the_key_is_as_documented() -> None:
    key = item_key(TABLE.parts, {"a": {"S": "user#1"}})
    assert expiry_key(NOW, key).hex(" ") == (
        "00 00 00 00 6b 49 d2 00 8b 54 29 29 75 73 65 72 23 31 00 00"
    )


def row(second: int) -> tuple[str, int, bytes]:
    return "t1.x", 3, expiry_key(second, b"k")


@pytest.mark.parametrize(
    ("old", "new", "deletes", "puts"),
    [
        (None, {"N": "5"}, [], [5]),
        ({"N": "5"}, None, [5], []),
        ({"N": "5"}, {"N": "6"}, [5], [6]),
        ({"N": "5"}, {"N": "5"}, [], []),
        ({"N": "4.5"}, {"N": "5"}, [], []),
        ({"N": "5"}, {"S": "5"}, [5], []),
        ({"S": "5"}, {"S": "6"}, [], []),
        (None, None, [], []),
    ],
)
def test_the_row_follows_the_time(
    old: dict[str, Any] | None, new: dict[str, Any] | None, deletes: list[int], puts: list[int]
) -> None:
    changes = Changes()
    change_expiry(TABLE, ("t1", 3, b"k"), old, new, changes)
    assert changes.deletes == [row(second) for second in deletes]
    assert changes.puts == [(*row(second), b"") for second in puts]
