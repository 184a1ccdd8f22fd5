"""Consumed capacity and item collection metrics."""

import pytest

from hashrange.api.items.consumed_capacity import (
    Capacity,
    capacity_detail,
    collection_metrics,
    read_units,
    report_write,
)
from hashrange.model.schema import KeyPart
from hashrange.storage.writes import CheckWrite, ItemOutcome
from tests.harness.schemas import make_index, make_table

PK = KeyPart("p", "S")
LOCAL = make_index("local", PK, KeyPart("x", "S"), is_global=False)
TABLE = make_table(PK, indexes=(make_index("global", KeyPart("g", "S")), LOCAL))
WRITE = CheckWrite(TABLE, b"key", {"p": {"S": "a"}}, None)


def outcome():
    made = ItemOutcome(None, None)
    made.charges = {"global": 2, "local": 1}
    return made


@pytest.mark.parametrize(
    ("size", "consistent", "units"),
    [(0, True, 1.0), (4096, True, 1.0), (4097, True, 2.0), (0, False, 0.5), (8193, False, 1.5)],
)
def test_reads_are_counted_in_units_of_four_kilobytes(size, consistent, units):
    assert read_units(size, consistent=consistent) == units


def test_units_are_told_apart_by_index_only_when_asked_for():
    capacity = Capacity(TABLE)
    capacity.charge_write(outcome())
    assert capacity.document("TOTAL") == {"CapacityUnits": 4.0, "TableName": "table"}
    assert capacity.document("INDEXES") == {
        "CapacityUnits": 4.0,
        "TableName": "table",
        "Table": {"CapacityUnits": 1.0},
        "GlobalSecondaryIndexes": {"global": {"CapacityUnits": 2.0}},
        "LocalSecondaryIndexes": {"local": {"CapacityUnits": 1.0}},
    }


def test_transactions_double_the_part_of_the_table_and_tell_the_direction():
    capacity = Capacity(TABLE)
    capacity.charge_write(outcome(), factor=2)
    document = capacity.document("TOTAL", "Write")
    assert (document["CapacityUnits"], document["WriteCapacityUnits"]) == (5.0, 5.0)


def test_none_means_no_capacity():
    assert capacity_detail({"ReturnConsumedCapacity": "NONE"}) is None
    assert capacity_detail({}) is None
    assert report_write({}, {}, WRITE, outcome()) == {}


def test_the_size_of_a_collection_is_estimated_in_whole_gigabytes():
    done = outcome()
    done.collection_size = 3 * (1 << 30) + 5
    metrics = collection_metrics(WRITE, done)
    assert metrics == {
        "ItemCollectionKey": {"p": {"S": "a"}},
        "SizeEstimateRangeGB": [3.0, 4.0],
    }
    asked = {"ReturnItemCollectionMetrics": "SIZE", "ReturnConsumedCapacity": "TOTAL"}
    assert report_write({}, asked, WRITE, done).keys() == {
        *("ConsumedCapacity", "ItemCollectionMetrics"),
    }
