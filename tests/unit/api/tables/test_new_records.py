"""Records of new tables and indexes."""

import asyncio

import pytest

from hashrange.api.tables.new_records import (
    make_data_key,
    make_index,
    make_throughput,
    new_store,
)
from hashrange.errors import ValidationException
from tests.harness.tables import Tables


def test_an_index_is_kept_as_it_is_described():
    described = {
        "IndexName": "by_b",
        "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
        "ProvisionedThroughput": {"ReadCapacityUnits": 4, "WriteCapacityUnits": 5},
    }
    record = make_index(described, 8, "store", is_global=True)
    assert (record.name, record.store, record.shards, record.is_global) == (
        *("by_b", "store", 8, True),
    )
    assert (record.projection_type, record.non_key_attributes) == ("INCLUDE", ["x"])
    assert (record.throughput.read_units, record.throughput.write_units) == (4, 5)


def test_what_is_on_demand_has_no_units():
    assert (make_throughput(None).read_units, make_throughput(None).write_units) == (0, 0)


@pytest.mark.parametrize("specification", [None, {}, {"Enabled": False}])
def test_a_table_that_asks_for_no_key_gets_none(specification):
    context = Tables().context
    assert asyncio.run(make_data_key(context, "table", specification)) is None


def test_a_table_that_names_no_key_gets_the_one_that_is_managed_for_its_account():
    context = Tables().context
    first, second = (
        asyncio.run(make_data_key(context, "table", {"Enabled": True})) for _ in range(2)
    )
    assert first is not None
    assert second is not None
    assert first.key_arn == second.key_arn
    assert first.key_arn.startswith("arn:aws:kms:us-east-1:000000000000:key/")
    assert first.marker != second.marker


def test_a_key_that_is_not_there_is_refused():
    context = Tables().context
    specification = {"Enabled": True, "KMSMasterKeyId": "alias/none"}
    with pytest.raises(ValidationException, match="KMS validation error"):
        asyncio.run(make_data_key(context, "table", specification))


def test_no_two_stores_have_one_name():
    assert len({new_store() for _ in range(100)}) == 100
