"""CreateBackup, DescribeBackup, ListBackups, DeleteBackup, and backups of deleted tables."""

from typing import Any

import pytest

from hashrange.model.jobs import JobRecord, job_id
from hashrange.storage.backups import BackupStore
from hashrange.storage.jobs import JobStore
from tests.harness.protected import TABLE, ProtectedTable

DAY = 86_400.0
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/table/backup/01700000010000-00000000"


def create(table: ProtectedTable, name: str = "nightly", source: str = TABLE) -> str:
    details = table.call("CreateBackup", TableName=source, BackupName=name)["BackupDetails"]
    assert details["BackupStatus"] == "CREATING"
    return str(details["BackupArn"])


def describe(table: ProtectedTable, arn: str) -> dict[str, Any]:
    description: dict[str, Any] = table.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    return description


def names(table: ProtectedTable, **request: Any) -> list[str]:
    page = table.call("ListBackups", **request)
    return [backup["BackupName"] for backup in page["BackupSummaries"]]


def sorted_items(items: list[Any]) -> list[Any]:
    return sorted(items, key=str)


def test_a_backup_holds_the_table_as_it_was(table: ProtectedTable) -> None:
    for number in range(50):
        table.put("abcde"[number % 5], number, v=str(number))
    items = table.scan()
    created = table.clock.now()
    arn = create(table)
    description = describe(table, arn)
    details = description["BackupDetails"]
    assert details == {
        "BackupArn": arn,
        "BackupName": "nightly",
        "BackupSizeBytes": details["BackupSizeBytes"],
        "BackupStatus": "AVAILABLE",
        "BackupType": "USER",
        "BackupCreationDateTime": created,
    }
    source = description["SourceTableDetails"]
    assert (source["TableName"], source["ItemCount"]) == (TABLE, 50)
    assert source["TableSizeBytes"] == details["BackupSizeBytes"] > 100
    assert description["SourceTableFeatureDetails"] == {
        "TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}
    }
    for number in range(50):
        table.delete("abcde"[number % 5], number)
    table.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="restored")
    assert sorted_items(table.scan(table="restored")) == sorted_items(items)
    # A second one at the same time finds the name taken.
    assert (
        table.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="restored")
        == "TableAlreadyExistsException: Table already exists: restored"
    )


def test_a_table_needs_no_recovery_to_be_backed_up() -> None:
    table = ProtectedTable(is_protected=False)
    table.put("a", 1)
    arn = create(table)
    assert describe(table, arn)["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert table.history_rows() == 0
    table.close()


def test_backups_are_listed_by_table_type_and_time_page_by_page(table: ProtectedTable) -> None:
    first = table.clock.now()
    for number in range(5):
        create(table, f"backup-{number}")
        table.clock.advance(10)
    assert names(table) == [f"backup-{number}" for number in range(5)]
    assert names(table, TableName="another") == []
    assert names(table, BackupType="SYSTEM") == []
    assert names(table, TimeRangeLowerBound=first + 10, TimeRangeUpperBound=first + 30) == [
        "backup-1",
        "backup-2",
    ]
    page = table.call("ListBackups", Limit=2)
    assert len(page["BackupSummaries"]) == 2
    rest = names(table, ExclusiveStartBackupArn=page["LastEvaluatedBackupArn"])
    assert rest == ["backup-2", "backup-3", "backup-4"]
    assert "LastEvaluatedBackupArn" not in table.call("ListBackups", Limit=5)
    assert table.refusal("ListBackups", TimeRangeLowerBound=2, TimeRangeUpperBound=1) == (
        "ValidationException: Time range lower bound must be less than or equal to upper bound"
    )


def test_a_deleted_backup_is_gone(table: ProtectedTable) -> None:
    arn = create(table)
    table.call("ListTables")
    deleted = table.call("DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert deleted["BackupDetails"]["BackupStatus"] == "DELETED"
    for operation, more in (
        ("DescribeBackup", {}),
        ("DeleteBackup", {}),
        ("RestoreTableFromBackup", {"TargetTableName": "restored"}),
    ):
        refusal = table.refusal(operation, None, BackupArn=arn, **more)
        assert refusal == f"BackupNotFoundException: Backup not found: {arn}"
    assert names(table) == []


def test_a_protected_table_leaves_a_backup_for_35_days(table: ProtectedTable) -> None:
    for number in range(20):
        table.put("ab"[number % 2], number, v=str(number))
    items = table.scan()
    table.clock.advance(1)
    deleted_at = table.clock.now()
    table.call("DeleteTable", TableName=TABLE)
    assert names(table) == []
    (summary,) = table.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    assert summary["BackupName"] == f"{TABLE}$DeletedTableBackup"
    assert summary["BackupArn"].endswith("-00000000")
    assert summary["BackupExpiryDateTime"] == deleted_at + 35 * DAY
    arn = summary["BackupArn"]
    assert table.refusal("DeleteBackup", BackupArn=arn) == (
        "ValidationException: not allowed to delete the system backup"
    )
    table.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=TABLE)
    assert sorted_items(table.scan()) == sorted_items(items)
    table.put("c", 1)
    table.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="again")
    assert sorted_items(table.scan(table="again")) == sorted_items(items)
    table.clock.advance(35 * DAY)
    assert names(table, BackupType="ALL") == []
    assert table.refusal("DescribeBackup", BackupArn=arn).startswith("BackupNotFoundException")
    assert sorted_items(table.scan(table="again")) == sorted_items(items)


def test_a_table_without_recovery_leaves_nothing() -> None:
    table = ProtectedTable(is_protected=False)
    table.put("a", 1)
    table.call("DeleteTable", TableName=TABLE)
    assert names(table, BackupType="ALL") == []
    table.close()


def test_wrong_names_are_refused(table: ProtectedTable) -> None:
    assert table.refusal("CreateBackup", TableName="absent", BackupName="nightly") == (
        "TableNotFoundException: Table not found: absent"
    )
    assert table.refusal("DescribeBackup", BackupArn="x" * 40) == (
        "ValidationException: Invalid Backup ARN"
    )
    assert table.refusal("DescribeBackup", BackupArn=ARN) == (
        f"BackupNotFoundException: Backup not found: {ARN}"
    )
    other = ARN.replace("000000000000", "111111111111")
    assert table.refusal("DescribeBackup", BackupArn=other) == (
        "AccessDeniedException: Access is denied"
    )


def crowd(table: ProtectedTable, kind: str, account: str, count: int) -> None:
    """Have jobs under way that never end, as far as the server knows."""
    store = JobStore(table.database.engine)
    for number in range(count):
        job = JobRecord(
            id=job_id(table.clock.now(), f"{number:08x}"),
            kind=kind,
            account=account,
            region="us-east-1",
            arn="",
            created_at=table.clock.now(),
            request={},
        )
        table.runner.run(store.start(job, {}))


def test_fifty_backups_and_restores_at_a_time(
    table: ProtectedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn = create(table)
    describe(table, arn)
    monkeypatch.setattr(table.database, "do_due_work", nothing)
    for kind in ("backup", "restore"):
        crowd(table, kind, "000000000000", 49)
        crowd(table, kind, "111111111111", 5)
    create(table, "fiftieth")
    restore = {"BackupArn": arn, "TargetTableName": "fiftieth"}
    table.call("RestoreTableFromBackup", **restore)
    message = (
        "LimitExceededException: Subscriber limit exceeded: Only 50 {} operations can be in "
        "progress at the same time"
    )
    refused = table.refusal("CreateBackup", TableName=TABLE, BackupName="one-more")
    assert refused == message.format("backup")
    restore["TargetTableName"] = "one-more"
    refused = table.refusal("RestoreTableFromBackup", **restore)
    assert refused == message.format("restore")


async def nothing() -> None:
    """Do no background work."""


def test_a_backup_that_no_job_makes_is_forgotten(table: ProtectedTable) -> None:
    arn = create(table)
    describe(table, arn)
    backups = BackupStore(table.database.engine)
    id = arn.rpartition("/")[2]
    backup = table.runner.run(backups.find("000000000000", "us-east-1", id, TABLE))
    assert backup is not None
    backup.is_available = False
    table.runner.run(backups.change(backup, lambda _: backup))
    assert describe(table, arn)["BackupDetails"]["BackupStatus"] == "CREATING"
    table.clock.advance(61)
    assert table.refusal("DescribeBackup", BackupArn=arn) == (
        f"BackupNotFoundException: Backup not found: {arn}"
    )
