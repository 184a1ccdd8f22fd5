"""Catalog records: states that follow from times, and the tables made of them."""

import pytest

from hashrange.errors import CorruptionError
from hashrange.model.records import (
    IndexRecord,
    TableRecord,
    Throughput,
    TimeToLive,
    make_table,
    unpack_record,
)

NOW = 1000.0


def key_schema(partition, sort=None):
    schema = [{"AttributeName": partition, "KeyType": "HASH"}]
    return [*schema, {"AttributeName": sort, "KeyType": "RANGE"}] if sort else schema


def index(name="by_b", **fields):
    return IndexRecord(
        **{
            "name": name,
            "store": f"t1.{name}",
            "shards": 1,
            "is_global": True,
            "key_schema": key_schema("b"),
            "projection_type": "ALL",
            "non_key_attributes": [],
            **fields,
        }
    )


def record(**fields):
    return TableRecord(
        **{
            "name": "music",
            "id": "i",
            "account": "123456789012",
            "region": "eu-west-1",
            "store": "t1",
            "shards": 1,
            "key_schema": key_schema("a", "n"),
            "attribute_types": {"a": "S", "n": "N", "b": "S"},
            "created_at": NOW,
            "active_at": NOW + 1,
            "billing_mode": "PROVISIONED",
            "throughput": Throughput(2, 3),
            **fields,
        }
    )


def test_the_state_of_a_table_follows_from_its_times():
    made = record(updated_until=NOW + 5)
    states = [made.status(NOW + passed) for passed in (0, 1, 4, 5)]
    assert states == ["CREATING", "UPDATING", "UPDATING", "ACTIVE"]
    assert record(indexes=[index(fill_at=NOW + 9)]).status(NOW + 8) == "UPDATING"
    assert record(gone_at=NOW + 9).status(NOW + 5) == "DELETING"


def test_the_state_of_an_index_follows_from_its_times():
    assert index(gone_at=NOW).status(NOW) == "DELETING"
    assert index(is_filled=False).status(NOW) == "CREATING"
    assert index(updated_until=NOW + 1).status(NOW) == "UPDATING"
    assert index().status(NOW) == "ACTIVE"


@pytest.mark.parametrize(
    ("is_enabled", "is_filled", "passed", "status"),
    [
        (True, False, 5, "ENABLING"),
        (True, True, 0, "ENABLING"),
        (True, True, 5, "ENABLED"),
        (False, False, 0, "DISABLING"),
        (False, False, 5, "DISABLED"),
    ],
)
def test_time_to_live_is_enabled_once_it_is_settled_and_filled(
    is_enabled, is_filled, passed, status
):
    setting = TimeToLive("expires", is_enabled, NOW, NOW + 1, is_filled)
    assert setting.status(NOW + passed) == status


def test_deleted_indexes_are_described_for_a_while_but_cannot_be_used():
    made = record(indexes=[index("old", gone_at=NOW + 5), index("new")])
    assert [each.name for each in made.live_indexes(NOW)] == ["old", "new"]
    assert [each.name for each in made.live_indexes(NOW + 5)] == ["new"]
    assert made.index("old") is None
    assert list(make_table(made).by_name) == ["new"]


def test_a_table_has_a_store_for_all_that_is_derived_from_its_items():
    indexes = [index("g", is_filled=False), index("l", is_global=False)]
    made = record(indexes=indexes, time_to_live=TimeToLive("expires", True, NOW, NOW))
    assert made.stores() == ["t1", "t1.g", "t1.t1.g", "t1.l", "t1.c", "t1.x"]
    assert made.fills() == ["g", ":ttl"]
    assert record().stores() == ["t1"]


def test_throughput_is_described_as_it_was_until_the_change_is_complete():
    changed = Throughput(5, 5, before=Throughput(1, 1))
    assert changed.described("UPDATING").read_units == 1
    assert changed.described("ACTIVE").read_units == 5


def test_a_projection_holds_the_keys_of_table_and_index():
    partial = index(projection_type="INCLUDE", non_key_attributes=["extra"])
    table = make_table(record(indexes=[partial]))
    assert table.by_name["by_b"].projected == frozenset(("a", "n", "b", "extra"))
    assert table.key_types == {"a": "S", "n": "N", "b": "S"}


def test_a_record_comes_back_from_its_row():
    made = record(
        indexes=[index(throughput=Throughput(1, 1, before=Throughput(2, 2)))],
        time_to_live=TimeToLive("expires", True, NOW, NOW),
        tags={"team": "blue"},
    )
    assert unpack_record(made.pack()) == made


@pytest.mark.parametrize("row", [b"", b"{}", b'{"format": 1, "table": {}}', b'{"format": 2}'])
def test_a_row_that_is_no_record_is_corruption(row):
    with pytest.raises(CorruptionError):
        unpack_record(row)
