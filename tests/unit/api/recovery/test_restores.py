"""RestoreTableToPointInTime and RestoreTableFromBackup."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.protected import KEYS, TABLE, ProtectedTable, key_of

BY_V = {
    "IndexName": "by-v",
    "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
LOCAL = {
    "IndexName": "local",
    "KeySchema": [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "v", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
INDEXED: dict[str, Any] = {
    "AttributeDefinitions": [
        *KEYS["AttributeDefinitions"],
        {"AttributeName": "v", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [BY_V],
    "LocalSecondaryIndexes": [LOCAL],
}
PROVISIONED = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}


@pytest.fixture
def indexed() -> Iterator[ProtectedTable]:
    made = ProtectedTable(**INDEXED)
    yield made
    made.close()


def restore(table: ProtectedTable, target: str, **request: Any) -> dict[str, Any]:
    answer = table.call(
        "RestoreTableToPointInTime", SourceTableName=TABLE, TargetTableName=target, **request
    )
    description: dict[str, Any] = answer["TableDescription"]
    return description


def describe(table: ProtectedTable, name: str) -> dict[str, Any]:
    description: dict[str, Any] = table.call("DescribeTable", TableName=name)["Table"]
    return description


def sorted_items(items: list[Any]) -> list[Any]:
    return sorted(items, key=str)


def test_a_restored_table_is_the_table_as_it_was(table: ProtectedTable) -> None:
    rng = random.Random(3)
    states = []
    for _ in range(30):
        p, s = rng.choice("abcdef"), rng.randrange(5)
        if rng.random() < 0.3:
            table.delete(p, s)
        else:
            table.put(p, s, v=str(rng.random()))
        states.append((table.clock.now(), table.scan()))
        table.clock.advance(1)
    for number, (time, items) in enumerate(rng.sample(states, 5)):
        described = restore(table, f"restored-{number}", RestoreDateTime=time)
        assert described["TableStatus"] == "CREATING"
        assert described["RestoreSummary"] == {
            "SourceTableArn": described["TableArn"].replace(f"restored-{number}", TABLE),
            "RestoreDateTime": time,
            "RestoreInProgress": True,
        }
        after = describe(table, f"restored-{number}")
        assert after["TableStatus"] == "ACTIVE"
        assert "RestoreSummary" not in after
        assert after["ItemCount"] == len(items)
        assert sorted_items(table.scan(table=f"restored-{number}")) == sorted_items(items)
    restore(table, "latest", UseLatestRestorableTime=True)
    assert sorted_items(table.scan(table="latest")) == sorted_items(states[-1][1])


def test_indexes_are_restored_with_their_entries(indexed: ProtectedTable) -> None:
    for number in range(20):
        indexed.put("a", number, v=str(number % 3))
    time = indexed.clock.now()
    indexed.clock.advance(1)
    for number in range(20):
        indexed.delete("a", number)
    restore(indexed, "restored", RestoreDateTime=time)
    described = describe(indexed, "restored")
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == 20
    assert described["LocalSecondaryIndexes"][0]["ItemCount"] == 20
    page = indexed.call(
        "Query",
        TableName="restored",
        IndexName="by-v",
        KeyConditionExpression="v = :v",
        ExpressionAttributeValues={":v": {"S": "2"}},
    )
    assert page["Count"] == 6


def test_indexes_can_be_left_out_and_renamed(indexed: ProtectedTable) -> None:
    indexed.put("a", 1, v="x")
    indexed.clock.advance(1)
    restore(
        indexed,
        "bare",
        UseLatestRestorableTime=True,
        GlobalSecondaryIndexOverride=[],
        LocalSecondaryIndexOverride=[],
    )
    bare = describe(indexed, "bare")
    assert "GlobalSecondaryIndexes" not in bare
    assert "LocalSecondaryIndexes" not in bare
    assert bare["AttributeDefinitions"] == KEYS["AttributeDefinitions"]
    restore(
        indexed,
        "renamed",
        UseLatestRestorableTime=True,
        GlobalSecondaryIndexOverride=[BY_V | {"IndexName": "other"}],
    )
    renamed = describe(indexed, "renamed")
    assert [index["IndexName"] for index in renamed["GlobalSecondaryIndexes"]] == ["other"]
    assert indexed.scan(table="renamed", IndexName="other") == [key_of("a", 1) | {"v": {"S": "x"}}]


def test_an_index_that_the_source_lacks_is_refused(indexed: ProtectedTable) -> None:
    for wrong in (
        BY_V | {"Projection": {"ProjectionType": "KEYS_ONLY"}},
        BY_V | {"KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}]},
    ):
        assert indexed.refusal(
            "RestoreTableToPointInTime",
            SourceTableName=TABLE,
            TargetTableName="restored",
            UseLatestRestorableTime=True,
            GlobalSecondaryIndexOverride=[wrong],
        ) == (
            "ValidationException: Index by-v does not match a secondary index that existed in the "
            "source table and cannot be created during the restore operation"
        )


def test_billing_throughput_and_encryption_can_be_overridden(indexed: ProtectedTable) -> None:
    restore(
        indexed,
        "restored",
        UseLatestRestorableTime=True,
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=PROVISIONED,
        SSESpecificationOverride={"Enabled": True},
    )
    described = describe(indexed, "restored")
    assert "BillingModeSummary" not in described
    throughput = described["ProvisionedThroughput"]
    assert {name: throughput[name] for name in PROVISIONED} == PROVISIONED
    index = described["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert {name: index[name] for name in PROVISIONED} == PROVISIONED
    assert described["SSEDescription"]["SSEType"] == "KMS"


def test_settings_that_aws_does_not_restore_are_not_restored() -> None:
    table = ProtectedTable(
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        Tags=[{"Key": "a", "Value": "b"}],
        DeletionProtectionEnabled=True,
    )
    table.call(
        "UpdateTimeToLive",
        TableName=TABLE,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"},
    )
    restore(table, "restored", UseLatestRestorableTime=True)
    described = describe(table, "restored")
    assert "LatestStreamArn" not in described
    assert described["DeletionProtectionEnabled"] is False
    setting = table.call("DescribeTimeToLive", TableName="restored")["TimeToLiveDescription"]
    assert setting == {"TimeToLiveStatus": "DISABLED"}
    assert table.call("ListTagsOfResource", ResourceArn=described["TableArn"])["Tags"] == []
    recovery = table.call("DescribeContinuousBackups", TableName="restored")
    description = recovery["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert description["PointInTimeRecoveryStatus"] == "DISABLED"
    table.close()


def refusals(table: ProtectedTable) -> list[tuple[dict[str, Any], str]]:
    source = {"SourceTableName": TABLE}
    latest = source | {"UseLatestRestorableTime": True}
    now = table.clock.now()
    return [
        (
            {"UseLatestRestorableTime": True},
            "ValidationException: Must provide exactly one of: sourceTableArn, sourceTableName",
        ),
        (
            source,
            "ValidationException: Either one of RestoreDateTime or UseLatestRestorableTime must "
            "be specified",
        ),
        (
            latest | {"RestoreDateTime": now},
            "ValidationException: Both RestoreDateTime and UseLatestRestorableTime cannot be set",
        ),
        (
            latest | {"SourceTableName": "absent"},
            "TableNotFoundException: Table not found: absent",
        ),
        (
            latest | {"TargetTableName": TABLE},
            f"TableAlreadyExistsException: Table already exists: {TABLE}",
        ),
        (
            latest | {"BillingModeOverride": "PROVISIONED"},
            "ValidationException: Must override ProvisionedThroughput if BillingMode is "
            "overridden to PROVISIONED",
        ),
        (
            latest | {"ProvisionedThroughputOverride": PROVISIONED},
            "ValidationException: Cannot override ProvisionedThroughput unless BillingMode is "
            "PROVISIONED",
        ),
    ]


def test_wrong_requests_are_refused_with_the_texts_of_aws(table: ProtectedTable) -> None:
    for request, text in refusals(table):
        wanted = {"TargetTableName": "restored"} | request
        assert table.refusal("RestoreTableToPointInTime", **wanted) == text
    early = table.refusal(
        "RestoreTableToPointInTime",
        SourceTableName=TABLE,
        TargetTableName="restored",
        RestoreDateTime=table.clock.now() - 1000,
    )
    assert early.startswith("InvalidRestoreTimeException: ")
    table.protect(is_enabled=False)
    assert table.refusal(
        "RestoreTableToPointInTime",
        SourceTableName=TABLE,
        TargetTableName="restored",
        UseLatestRestorableTime=True,
    ) == (
        "PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table "
        f"'{TABLE}'"
    )
    assert table.call("ListTables")["TableNames"] == [TABLE]
