"""Records of new tables and indexes."""

from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.api.tables.new_records import (
    encryption_key,
    make_index,
    make_throughput,
    new_store,
)

CONTEXT: Any = SimpleNamespace(region="eu-west-1", account="123456789012")
KMS = "arn:aws:kms:eu-west-1:123456789012:"


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


@pytest.mark.parametrize(
    ("specification", "arn"),
    [
        (None, None),
        ({"Enabled": False, "KMSMasterKeyId": "k"}, None),
        ({"Enabled": True}, KMS + "alias/aws/dynamodb"),
        ({"Enabled": True, "KMSMasterKeyId": "1234"}, KMS + "key/1234"),
        ({"Enabled": True, "KMSMasterKeyId": "key/1234"}, KMS + "key/1234"),
        ({"Enabled": True, "KMSMasterKeyId": "alias/mine"}, KMS + "alias/mine"),
        ({"Enabled": True, "KMSMasterKeyId": "arn:aws:kms:x"}, "arn:aws:kms:x"),
    ],
)
def test_the_key_of_a_table_is_named_by_its_arn(specification, arn):
    assert encryption_key(CONTEXT, specification) == arn


def test_no_two_stores_have_one_name():
    assert len({new_store() for _ in range(100)}) == 100
