"""CreateTable: what a new table is, and what is refused, in which order."""

from typing import Any

import pytest

from hashrange.storage.catalog import Delays
from tests.harness.tables import Tables, definitions, index, key_schema

INVALID = "ValidationException: One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 3}


def test_a_table_is_creating_in_the_answer_and_active_in_the_next() -> None:
    tables = Tables()
    assert tables.create()["TableStatus"] == "CREATING"
    assert tables.describe()["TableStatus"] == "ACTIVE"


def test_a_table_stays_creating_for_the_delay() -> None:
    tables = Tables(Delays(create_seconds=5))
    tables.create(
        AttributeDefinitions=definitions("a", "b", "c"),
        GlobalSecondaryIndexes=[index("by_c", "c")],
    )
    assert tables.describe()["TableStatus"] == "CREATING"
    assert tables.describe()["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    tables.clock.advance(5)
    assert tables.describe()["TableStatus"] == "ACTIVE"
    assert tables.describe()["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"


def test_an_on_demand_table_is_described_in_full() -> None:
    tables = Tables()
    tables.create(
        TableClass="STANDARD_INFREQUENT_ACCESS",
        DeletionProtectionEnabled=True,
        OnDemandThroughput={"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": -1},
        WarmThroughput={"ReadUnitsPerSecond": 20_000},
        SSESpecification={"Enabled": True},
    )
    table = tables.describe()
    now = tables.clock.now()
    key_arn = table["SSEDescription"]["KMSMasterKeyArn"]
    assert key_arn.startswith("arn:aws:kms:us-east-1:000000000000:key/")
    table_id = table.pop("TableId")
    assert len(table_id) == 36
    assert table == {
        "AttributeDefinitions": definitions("a", "b"),
        "TableName": "table",
        "KeySchema": key_schema("a", "b"),
        "TableStatus": "ACTIVE",
        "CreationDateTime": now,
        "ProvisionedThroughput": {
            "NumberOfDecreasesToday": 0,
            "ReadCapacityUnits": 0,
            "WriteCapacityUnits": 0,
        },
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/table",
        "BillingModeSummary": {
            "BillingMode": "PAY_PER_REQUEST",
            "LastUpdateToPayPerRequestDateTime": now,
        },
        "SSEDescription": {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": key_arn,
        },
        "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        "DeletionProtectionEnabled": True,
        "OnDemandThroughput": {"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": -1},
        "WarmThroughput": {
            "ReadUnitsPerSecond": 20_000,
            "WriteUnitsPerSecond": 4_000,
            "Status": "ACTIVE",
        },
    }


def test_a_provisioned_table_with_indexes_is_described_in_full() -> None:
    tables = Tables()
    include = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]}
    tables.create(
        BillingMode="PROVISIONED",
        ProvisionedThroughput=UNITS,
        AttributeDefinitions=definitions("a", "b", "c"),
        LocalSecondaryIndexes=[index("local", "a", "c", Projection=include)],
        GlobalSecondaryIndexes=[index("global", "c", "a", ProvisionedThroughput=UNITS)],
    )
    table = tables.describe()
    assert "BillingModeSummary" not in table
    throughput = {"NumberOfDecreasesToday": 0, **UNITS}
    assert table["ProvisionedThroughput"] == throughput
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/table/index/"
    assert table["LocalSecondaryIndexes"] == [
        {
            "IndexName": "local",
            "KeySchema": key_schema("a", "c"),
            "Projection": include,
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": arn + "local",
        }
    ]
    assert table["GlobalSecondaryIndexes"] == [
        {
            "IndexName": "global",
            "KeySchema": key_schema("c", "a"),
            "Projection": {"ProjectionType": "ALL"},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": arn + "global",
            "IndexStatus": "ACTIVE",
            "ProvisionedThroughput": throughput,
            "WarmThroughput": {
                "ReadUnitsPerSecond": 5,
                "WriteUnitsPerSecond": 3,
                "Status": "ACTIVE",
            },
        }
    ]


def test_a_global_index_has_up_to_four_partition_and_four_sort_attributes() -> None:
    tables = Tables()
    names = "abcdefgh"
    schema = [
        {"AttributeName": name, "KeyType": "HASH" if name < "e" else "RANGE"} for name in names
    ]
    wide = index("wide", "a", KeySchema=schema)
    tables.create(AttributeDefinitions=definitions(*names), GlobalSecondaryIndexes=[wide])
    assert tables.describe()["GlobalSecondaryIndexes"][0]["KeySchema"] == schema
    schema[4]["KeyType"] = "HASH"
    refused = tables.refusal(
        "CreateTable",
        TableName="other",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=definitions(*names),
        KeySchema=key_schema("a", "b"),
        GlobalSecondaryIndexes=[wide],
    )
    assert refused == (
        "ValidationException: Too many partition keys. GSI can have at most 4 partition keys"
    )


SAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"ProvisionedThroughput": UNITS},
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
            "BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"BillingMode": None},
            INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when "
            "BillingMode is PROVISIONED",
        ),
        (
            {
                "BillingMode": None,
                "ProvisionedThroughput": {
                    "ReadCapacityUnits": 10**12 + 1,
                    "WriteCapacityUnits": 10**12 + 1,
                },
            },
            "ValidationException: Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        ({"AttributeDefinitions": []}, f"ValidationException: {NO_DEFINITION}"),
        (
            {"AttributeDefinitions": definitions("a"), "KeySchema": key_schema("a", "a")},
            f"ValidationException: {NO_DEFINITION}",
        ),
        (
            {"AttributeDefinitions": definitions("a", "x")},
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [a, b], AttributeDefinitions: [a, x]",
        ),
        ({"KeySchema": key_schema("a", "a")}, f"ValidationException: {SAME}"),
        (
            {"KeySchema": key_schema("a", "b")[::-1]},
            "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key "
            "type",
        ),
        (
            {"KeySchema": key_schema("a") + key_schema("b")},
            "ValidationException: Invalid KeySchema: The second KeySchemaElement is not a RANGE "
            "key type",
        ),
        (
            {"AttributeDefinitions": definitions("a", "b", "c")},
            INVALID + "Number of attributes in KeySchema does not exactly match number of "
            "attributes defined in AttributeDefinitions",
        ),
        (
            {"LocalSecondaryIndexes": []},
            INVALID + "List of LocalSecondaryIndexes is empty",
        ),
        (
            {"GlobalSecondaryIndexes": []},
            INVALID + "List of GlobalSecondaryIndexes is empty",
        ),
        (
            {
                "AttributeDefinitions": definitions("a", "c"),
                "KeySchema": key_schema("a"),
                "LocalSecondaryIndexes": [index("local", "a", "c")],
            },
            INVALID + "Table KeySchema does not have a range key, which is required when "
            "specifying a LocalSecondaryIndex",
        ),
        (
            {"LocalSecondaryIndexes": [index("local", "a")]},
            INVALID + "Index KeySchema does not have a range key for index: local",
        ),
        (
            {"LocalSecondaryIndexes": [index("local", "b", "a")]},
            INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema "
            "for index: local. index hash key: b, table hash key: a",
        ),
        (
            {"GlobalSecondaryIndexes": [index("global", "x")]},
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [x], AttributeDefinitions: [a, b]",
        ),
        (
            {"GlobalSecondaryIndexes": [index("global", "b", Projection={})]},
            INVALID + "Unknown ProjectionType: null",
        ),
        (
            {
                "GlobalSecondaryIndexes": [
                    index(
                        "global",
                        "b",
                        Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["x"]},
                    )
                ]
            },
            INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {
                "GlobalSecondaryIndexes": [
                    index(
                        "global",
                        "b",
                        Projection={
                            "ProjectionType": "INCLUDE",
                            "NonKeyAttributes": ["x", "y", "x"],
                        },
                    )
                ]
            },
            "ValidationException: Attribute Name is duplicated: x",
        ),
        (
            {"AttributeDefinitions": definitions("a", "b", "b")},
            "ValidationException: Attribute Name is duplicated: b",
        ),
        (
            {"GlobalSecondaryIndexes": [index("global", "b", ProvisionedThroughput=UNITS)]},
            INVALID + "ProvisionedThroughput should not be specified for index: global when "
            "BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"GlobalSecondaryIndexes": [index("same", "b"), index("same", "b")]},
            INVALID + "Duplicate index name: same",
        ),
        (
            {"GlobalSecondaryIndexes": [index(f"index{n}", "b") for n in range(21)]},
            INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
        (
            {"LocalSecondaryIndexes": [index(f"index{n}", "a", "b") for n in range(6)]},
            INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
        (
            {
                "AttributeDefinitions": definitions("a", "b", "c"),
                "GlobalSecondaryIndexes": [index("global", "b")],
            },
            INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [a, b, c], "
            "keys used: [a, b]",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            INVALID + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
            INVALID + "Table is being created with a stream disabled, UpdateViewType should not "
            "be specified",
        ),
        (
            {
                "BillingMode": None,
                "ProvisionedThroughput": {"ReadCapacityUnits": 40_001, "WriteCapacityUnits": 1},
            },
            "ValidationException: Cannot increase provisioned throughput to more than 40,000 "
            "units per table",
        ),
        (
            {"SSESpecification": {"Enabled": False, "KMSMasterKeyId": "x"}},
            INVALID + "KMSMasterKeyId cannot be specified when SSEEnabled is false",
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 1}},
            INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than "
            "current WarmThroughput, decreasing WarmThroughput is not supported",
        ),
    ],
)
def test_a_table_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    request = {
        "TableName": "table",
        "AttributeDefinitions": definitions("a", "b"),
        "KeySchema": key_schema("a", "b"),
        "BillingMode": "PAY_PER_REQUEST",
    } | change
    assert Tables().refusal("CreateTable", **request) == message


@pytest.mark.parametrize("setting", [{"VectorIndexes": [{}]}, {"GlobalTableSourceArn": "x"}])
def test_a_setting_that_would_have_no_effect_is_refused(setting: dict[str, Any]) -> None:
    refused = Tables().refusal(
        "CreateTable",
        TableName="table",
        AttributeDefinitions=definitions("a"),
        KeySchema=key_schema("a"),
        BillingMode="PAY_PER_REQUEST",
        **setting,
    )
    assert "not supported by this server" in refused


def test_a_name_is_taken_until_its_table_is_gone() -> None:
    tables = Tables(Delays(delete_seconds=5))
    tables.create()
    request = {
        "TableName": "table",
        "AttributeDefinitions": definitions("a"),
        "KeySchema": key_schema("a"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert tables.refusal("CreateTable", **request) == (
        "ResourceInUseException: Table already exists: table"
    )
    tables.call("DeleteTable", TableName="table")
    assert tables.refusal("CreateTable", **request) == (
        "ResourceInUseException: Attempt to change a resource which is still in use: "
        "Table is being deleted: table"
    )
    tables.clock.advance(5)
    tables.call("CreateTable", **request)
    assert tables.describe()["TableStatus"] == "ACTIVE"
