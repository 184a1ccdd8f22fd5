"""UpdateTable: capacity, settings and global indexes."""

import asyncio
from typing import Any

import pytest

from hashrange.storage.catalog import Delays
from tests.harness.tables import Tables, definitions, index, key_schema

INVALID = "ValidationException: One or more parameter values were invalid: "
ONLINE = (
    "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or "
    "deleted simultaneously per table"
)


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def provisioned(read: int = 5, write: int = 5, delays: Delays | None = None) -> Tables:
    tables = Tables(delays)
    tables.create(BillingMode="PROVISIONED", ProvisionedThroughput=units(read, write))
    return tables


def update(tables: Tables, **changes: Any) -> dict[str, Any]:
    return tables.call("UpdateTable", TableName="table", **changes)["TableDescription"]


def refusal(tables: Tables, **changes: Any) -> str:
    return tables.refusal("UpdateTable", TableName="table", **changes)


def test_a_table_is_updating_in_the_answer_and_active_in_the_next() -> None:
    tables = provisioned()
    assert update(tables, ProvisionedThroughput=units(10, 5))["TableStatus"] == "UPDATING"
    table = tables.describe()
    assert table["TableStatus"] == "ACTIVE"
    assert table["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": tables.clock.now(),
        "NumberOfDecreasesToday": 0,
        **units(10, 5),
    }


def test_a_table_stays_updating_for_the_delay_and_refuses_other_changes() -> None:
    tables = provisioned(delays=Delays(update_seconds=5))
    update(tables, ProvisionedThroughput=units(10, 5))
    assert tables.describe()["TableStatus"] == "UPDATING"
    assert refusal(tables, ProvisionedThroughput=units(11, 5)) == (
        "ResourceInUseException: Attempt to change a resource which is still in use: "
        "Table is being updated: table"
    )
    tables.clock.advance(5)
    update(tables, ProvisionedThroughput=units(11, 5))


def test_new_capacity_is_described_once_a_table_is_active_again() -> None:
    tables = provisioned(delays=Delays(update_seconds=5))
    asked_at = tables.clock.now()
    answer = update(tables, ProvisionedThroughput=units(10, 4))
    for table in (answer, tables.describe()):
        assert table["ProvisionedThroughput"] == {
            "LastIncreaseDateTime": asked_at,
            "LastDecreaseDateTime": asked_at,
            "NumberOfDecreasesToday": 0,
            **units(5, 5),
        }
        assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 5
    tables.clock.advance(5)
    assert tables.describe()["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": asked_at + 5,
        "LastDecreaseDateTime": asked_at + 5,
        "NumberOfDecreasesToday": 1,
        **units(10, 4),
    }
    answer = update(tables, DeletionProtectionEnabled=True)
    assert answer["ProvisionedThroughput"]["ReadCapacityUnits"] == 10


def test_new_capacity_of_an_index_is_described_once_the_table_is_active_again() -> None:
    tables = Tables(Delays(update_seconds=5))
    tables.create(
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(5, 5),
        GlobalSecondaryIndexes=[index("old", "b", ProvisionedThroughput=units(5, 5))],
    )
    change = {"Update": {"IndexName": "old", "ProvisionedThroughput": units(6, 6)}}
    answer = update(tables, GlobalSecondaryIndexUpdates=[change])
    for table in (answer, tables.describe()):
        (described,) = table["GlobalSecondaryIndexes"]
        assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    tables.clock.advance(5)
    (described,) = tables.describe()["GlobalSecondaryIndexes"]
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 6


def test_capacity_that_does_not_change_is_refused() -> None:
    assert refusal(provisioned(), ProvisionedThroughput=units(5, 5)) == (
        "ValidationException: The provisioned throughput for the table will not change. The "
        "requested value equals the current value. Current ReadCapacityUnits provisioned for the "
        "table: 5. Requested ReadCapacityUnits: 5. Current WriteCapacityUnits provisioned for the "
        "table: 5. Requested WriteCapacityUnits: 5. Refer to the Amazon DynamoDB Developer Guide "
        "for current limits and how to request higher limits."
    )


def test_after_four_decreases_a_day_one_an_hour_is_left() -> None:
    tables = provisioned(10, 10)
    for read in (9, 8, 7, 6):
        update(tables, ProvisionedThroughput=units(read, 10))
    assert tables.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 4
    assert "decreases are limited" in refusal(tables, ProvisionedThroughput=units(5, 10))
    tables.clock.advance(3600)
    update(tables, ProvisionedThroughput=units(5, 10))
    tables.clock.advance(86_400)
    assert tables.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0


def test_billing_goes_on_demand_and_back() -> None:
    tables = provisioned()
    update(tables, BillingMode="PAY_PER_REQUEST")
    table = tables.describe()
    assert table["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": tables.clock.now(),
    }
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    update(tables, BillingMode="PAY_PER_REQUEST")
    update(tables, BillingMode="PROVISIONED", ProvisionedThroughput=units(2, 3))
    table = tables.describe()
    assert table["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 3


def test_indexes_need_capacity_when_a_table_becomes_provisioned() -> None:
    tables = Tables()
    tables.create(GlobalSecondaryIndexes=[index("one", "b"), index("two", "b")])
    change: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(2, 3)}
    assert refusal(tables, **change) == (
        INVALID + "ProvisionedThroughput must be specified for index: one,two"
    )
    change["GlobalSecondaryIndexUpdates"] = [
        {"Update": {"IndexName": name, "ProvisionedThroughput": units(1, 1)}}
        for name in ("one", "two")
    ]
    update(tables, **change)
    for described in tables.describe()["GlobalSecondaryIndexes"]:
        assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 1


def test_settings_are_changed() -> None:
    tables = Tables()
    tables.create()
    update(
        tables,
        TableClass="STANDARD_INFREQUENT_ACCESS",
        DeletionProtectionEnabled=True,
        OnDemandThroughput={"MaxReadRequestUnits": 9},
        WarmThroughput={"WriteUnitsPerSecond": 5_000},
        SSESpecification={"Enabled": True},
    )
    table = tables.describe()
    assert table["TableClassSummary"] == {
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "LastUpdateDateTime": tables.clock.now(),
    }
    assert table["DeletionProtectionEnabled"] is True
    assert table["OnDemandThroughput"] == {"MaxReadRequestUnits": 9}
    assert table["WarmThroughput"]["WriteUnitsPerSecond"] == 5_000
    # Until a background service has sealed all rows.
    assert table["SSEDescription"]["Status"] == "UPDATING"
    update(tables, SSESpecification={"Enabled": False})
    assert "SSEDescription" not in tables.describe()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {},
            "ValidationException: At least one of ProvisionedThroughput, BillingMode, "
            "UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or "
            "ReplicaUpdates is required",
        ),
        (
            {"BillingMode": "PROVISIONED"},
            INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            {"ProvisionedThroughput": units(1, 1)},
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
            "BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{}]},
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, "
            "GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {"Delete": {"IndexName": "one"}},
                    {"Delete": {"IndexName": "one"}},
                ]
            },
            INVALID + "Only one global secondary index update per index is allowed "
            "simultaneously. Index: one",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {"Delete": {"IndexName": "one"}},
                    {"Delete": {"IndexName": "two"}},
                ]
            },
            ONLINE,
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "absent"}}]},
            "ResourceNotFoundException: Requested resource not found",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Create": index("new", "c")}]},
            "ValidationException: Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [{"Create": index("new", "c", "a")}],
                "AttributeDefinitions": definitions("c"),
            },
            "ValidationException: Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            # Definitions the table has already do not count.
            {
                "GlobalSecondaryIndexUpdates": [{"Create": index("new", "a")}],
                "AttributeDefinitions": definitions("c"),
            },
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [a], AttributeDefinitions: [c]",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [{"Create": index("old", "b")}],
                "AttributeDefinitions": definitions("b"),
            },
            "ValidationException: Attempting to create an index which already exists",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {"Create": index("new", "c"), "Delete": {"IndexName": "old"}}
                ],
                "AttributeDefinitions": definitions("c"),
            },
            INVALID + "Only one of GlobalSecondaryIndexUpdate.Update, "
            "GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete can be given",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [{"Create": index("new", "c", "b")}],
                "AttributeDefinitions": [
                    *definitions("c"),
                    {"AttributeName": "b", "AttributeType": "N"},
                ],
            },
            "ValidationException: Attributes cannot be redefined. Please check that your "
            "attribute has the same type as previously defined.",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [{"Create": index("new", "c")}],
                "AttributeDefinitions": definitions("c", "c"),
            },
            "ValidationException: Attribute Name is duplicated: c",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [{"Create": index("new", "c", Projection={})}],
                "AttributeDefinitions": definitions("c"),
            },
            INVALID + "Unknown ProjectionType: null",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            INVALID + "If stream is being enabled then UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False}},
            "ValidationException: Table has no stream to disable: TableName: table",
        ),
        (
            {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
            INVALID + "Replicas are not supported by this server: ReplicaUpdates",
        ),
    ],
)
def test_a_change_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    tables = Tables()
    tables.create(GlobalSecondaryIndexes=[index("old", "b")])
    assert refusal(tables, **change) == message


def create_index(name: str = "new", key: str = "c", *unused: str) -> dict[str, Any]:
    return {
        "AttributeDefinitions": definitions(key, *unused),
        "GlobalSecondaryIndexUpdates": [{"Create": index(name, key)}],
    }


def test_an_index_is_created_filled_and_deleted() -> None:
    tables = Tables()
    tables.create()
    (described,) = update(tables, **create_index())["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "CREATING"
    assert described["Backfilling"] is True
    (described,) = tables.describe()["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "CREATING"
    run(tables)
    (described,) = tables.describe()["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in described
    update(tables, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "new"}}])
    assert "GlobalSecondaryIndexes" not in tables.describe()


def run(tables: Tables) -> None:
    asyncio.run(tables.backfill.run_to_end())


def test_definitions_are_those_of_the_keys_in_use() -> None:
    tables = Tables()
    tables.create()
    update(tables, **create_index("new", "c", "unused"))
    assert tables.describe()["AttributeDefinitions"] == definitions("a", "b", "c")
    run(tables)
    update(tables, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "new"}}])
    assert tables.describe()["AttributeDefinitions"] == definitions("a", "b")


def test_one_index_at_a_time_is_created() -> None:
    tables = Tables()
    tables.create()
    update(tables, **create_index())
    assert refusal(tables, **create_index("other")) == ONLINE
    run(tables)
    update(tables, **create_index("other"))


def test_a_new_index_passes_through_its_states() -> None:
    tables = Tables(Delays(index_seconds=5))
    tables.create()
    update(tables, **create_index())
    table = tables.describe()
    assert table["TableStatus"] == "UPDATING"
    assert table["GlobalSecondaryIndexes"][0]["Backfilling"] is False
    run(tables)
    assert tables.describe()["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    tables.clock.advance(5)
    table = tables.describe()
    assert table["TableStatus"] == "ACTIVE"
    assert table["GlobalSecondaryIndexes"][0]["Backfilling"] is True
    run(tables)
    assert tables.describe()["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    update(tables, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "new"}}])
    table = tables.describe()
    assert table["TableStatus"] == "UPDATING"
    assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    tables.clock.advance(5)
    assert "GlobalSecondaryIndexes" not in tables.describe()


def test_the_key_schema_of_a_table_is_untouched() -> None:
    tables = Tables()
    tables.create()
    update(tables, **create_index())
    assert tables.describe()["KeySchema"] == key_schema("a", "b")


def test_attributes_keep_the_type_they_were_defined_with_and_unused_ones_are_dropped() -> None:
    tables = Tables()
    tables.create(GlobalSecondaryIndexes=[index("old", "b")])
    answer = update(
        tables,
        GlobalSecondaryIndexUpdates=[{"Create": index("new", "c")}],
        AttributeDefinitions=[
            *definitions("c", "unused"),
            {"AttributeName": "b", "AttributeType": "N"},
        ],
    )
    for table in (answer, tables.describe()):
        types = {d["AttributeName"]: d["AttributeType"] for d in table["AttributeDefinitions"]}
        assert "unused" not in types
        assert (types["b"], types["c"]) == ("S", "S")
