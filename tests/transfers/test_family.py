"""boto3 calls every operation of backups, recovery, exports, imports and bulk puts.

Its own waiters and paginators wait for the ends of jobs and walk through lists.
"""

from __future__ import annotations

import datetime
import gzip
import json
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import WaiterError

from tests.faults.served import eventually
from tests.transfers.conftest import DEFINITION, World, make_items, put_all

FAMILY = {
    "CancelBulkOperation",
    "CreateBackup",
    "DeleteBackup",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContinuousBackups",
    "DescribeExport",
    "DescribeImport",
    "ExportTableToPointInTime",
    "ImportTable",
    "ListBackups",
    "ListBulkOperations",
    "ListExports",
    "ListImports",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "StartBulkPutItems",
    "UpdateContinuousBackups",
}
QUICKLY = {"Delay": 0.05, "MaxAttempts": 1200}


@pytest.fixture
def called(dynamodb: Any) -> set[str]:
    """The operations that were called."""
    found: set[str] = set()
    dynamodb.meta.events.register(
        "before-call.dynamodb", lambda model, **_: found.add(model.name), unique_id="called"
    )
    return found


def test_every_operation_with_waiters_and_paginators(
    world: World, dynamodb: Any, called: set[str], table: str, bucket: str
) -> None:
    put_all(dynamodb, table, make_items(40))
    back_up_and_restore(dynamodb, table)
    export_and_list(dynamodb, table, bucket)
    import_and_put(world, dynamodb, table, bucket)
    assert called >= FAMILY, FAMILY - called


def back_up_and_restore(dynamodb: Any, table: str) -> None:
    described = dynamodb.describe_continuous_backups(TableName=table)
    recovery = described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"
    dynamodb.update_continuous_backups(
        TableName=table,
        PointInTimeRecoverySpecification={
            "PointInTimeRecoveryEnabled": True,
            "RecoveryPeriodInDays": 7,
        },
    )
    arns = []
    for number in range(3):
        made = dynamodb.create_backup(TableName=table, BackupName=f"backup-{number}")
        arns.append(made["BackupDetails"]["BackupArn"])
    for arn in arns:
        eventually(partial(is_available, dynamodb, arn), "the backup is available")
    pages = dynamodb.get_paginator("list_backups").paginate(
        TableName=table, PaginationConfig={"PageSize": 1}
    )
    listed = [backup["BackupArn"] for page in pages for backup in page["BackupSummaries"]]
    assert sorted(listed) == sorted(arns)
    dynamodb.restore_table_from_backup(TargetTableName=f"{table}-b", BackupArn=arns[0])
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=table, TargetTableName=f"{table}-t", UseLatestRestorableTime=True
    )
    for name in (f"{table}-b", f"{table}-t"):
        dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig=QUICKLY)
        assert dynamodb.scan(TableName=name, Select="COUNT")["Count"] == 40
        dynamodb.delete_table(TableName=name)
        dynamodb.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig=QUICKLY)
    for arn in arns:
        deleted = dynamodb.delete_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
        assert deleted["BackupStatus"] == "DELETED"


def is_available(dynamodb: Any, arn: str) -> bool:
    details = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
    return bool(details["BackupStatus"] == "AVAILABLE")


def export_and_list(dynamodb: Any, table: str, bucket: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    started = dynamodb.export_table_to_point_in_time(TableArn=arn, S3Bucket=bucket)
    export = started["ExportDescription"]["ExportArn"]
    dynamodb.get_waiter("export_completed").wait(ExportArn=export, WaiterConfig=QUICKLY)
    described = dynamodb.describe_export(ExportArn=export)["ExportDescription"]
    assert described["ItemCount"] == 40
    assert isinstance(described["EndTime"], datetime.datetime)
    listed = dynamodb.list_exports(TableArn=arn)["ExportSummaries"]
    assert [each["ExportArn"] for each in listed] == [export]
    failing = dynamodb.export_table_to_point_in_time(TableArn=arn, S3Bucket="no-such-bucket")
    with pytest.raises(WaiterError, match="terminal failure"):
        dynamodb.get_waiter("export_completed").wait(
            ExportArn=failing["ExportDescription"]["ExportArn"], WaiterConfig=QUICKLY
        )


def import_and_put(world: World, dynamodb: Any, table: str, bucket: str) -> None:
    lines = [
        json.dumps({"Item": {"a": {"S": "x"}, "b": {"N": str(number)}}}) for number in range(30)
    ]
    body = gzip.compress("\n".join(lines).encode())
    world.client("s3").put_object(Bucket=bucket, Key="in/1.gz", Body=body)
    source = {"S3Bucket": bucket, "S3KeyPrefix": "in/"}
    form = {"InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP"}
    started = dynamodb.import_table(
        S3BucketSource=source,
        TableCreationParameters={"TableName": f"{table}-i", **DEFINITION},
        **form,
    )
    arn = started["ImportTableDescription"]["ImportArn"]
    dynamodb.get_waiter("import_completed").wait(ImportArn=arn, WaiterConfig=QUICKLY)
    described = dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"]
    assert described["ImportedItemCount"] == 30
    assert arn in [each["ImportArn"] for each in dynamodb.list_imports()["ImportSummaryList"]]
    arns = []
    for _ in range(3):
        put = dynamodb.start_bulk_put_items(
            TableName=table,
            InputS3Configuration={**source, **form},
            OutputS3Configuration={"OutputType": []},
        )
        arns.append(put["BulkOperationDescription"]["BulkOperationArn"])
        dynamodb.get_waiter("bulk_operation_completed").wait(
            BulkOperationArn=arns[-1], WaiterConfig=QUICKLY
        )
    pages = dynamodb.get_paginator("list_bulk_operations").paginate(
        PaginationConfig={"PageSize": 1}
    )
    listed = [
        each["BulkOperationArn"] for page in pages for each in page["BulkOperationsSummaryList"]
    ]
    assert set(arns) <= set(listed)
    described = dynamodb.describe_bulk_operation(BulkOperationArn=arns[0])
    assert described["BulkOperationDescription"]["ProcessedItemCount"] == 30
    # What has ended stays as it is.
    dynamodb.cancel_bulk_operation(BulkOperationArn=arns[0])
    described = dynamodb.describe_bulk_operation(BulkOperationArn=arns[0])
    assert described["BulkOperationDescription"]["BulkOperationStatus"] == "COMPLETED"
