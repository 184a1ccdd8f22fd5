"""The shapes of requests about recovery and backups; see `requests` for how to read them."""

from __future__ import annotations

from typing import Final

from hashrange.api.shapes.requests import CREATE_TABLE
from hashrange.api.shapes.scalars import NAME_PATTERN, Boolean, Number, String, TableName
from hashrange.api.shapes.structures import Structure

_FLAG: Final = Boolean()
_TIME: Final = Number("Double")
_TABLE: Final = TableName(minimum=1)
_TARGET: Final = String(minimum=3, maximum=255, pattern=NAME_PATTERN)
_BACKUP_ARN: Final = String(minimum=37, maximum=1024)
_OVERRIDES: Final = {
    "BillingModeOverride": CREATE_TABLE.members["BillingMode"],
    "GlobalSecondaryIndexOverride": CREATE_TABLE.members["GlobalSecondaryIndexes"],
    "LocalSecondaryIndexOverride": CREATE_TABLE.members["LocalSecondaryIndexes"],
    "ProvisionedThroughputOverride": CREATE_TABLE.members["ProvisionedThroughput"],
    "OnDemandThroughputOverride": CREATE_TABLE.members["OnDemandThroughput"],
    "SSESpecificationOverride": CREATE_TABLE.members["SSESpecification"],
    "VectorIndexOverride": CREATE_TABLE.members["VectorIndexes"],
}

DESCRIBE_CONTINUOUS_BACKUPS: Final = Structure(
    "DescribeContinuousBackupsInput", {"TableName": _TABLE}, required=("TableName",)
)
UPDATE_CONTINUOUS_BACKUPS: Final = Structure(
    "UpdateContinuousBackupsInput",
    {
        "TableName": _TABLE,
        "PointInTimeRecoverySpecification": Structure(
            "PointInTimeRecoverySpecification",
            {
                "PointInTimeRecoveryEnabled": _FLAG,
                "RecoveryPeriodInDays": Number("Integer", minimum=1, maximum=35),
            },
            required=("PointInTimeRecoveryEnabled",),
        ),
    },
    required=("TableName", "PointInTimeRecoverySpecification"),
)
RESTORE_TABLE_TO_POINT_IN_TIME: Final = Structure(
    "RestoreTableToPointInTimeInput",
    {
        "SourceTableArn": _TABLE,
        "SourceTableName": _TARGET,
        "TargetTableName": _TARGET,
        "UseLatestRestorableTime": _FLAG,
        "RestoreDateTime": _TIME,
        **_OVERRIDES,
    },
    required=("TargetTableName",),
)
RESTORE_TABLE_FROM_BACKUP: Final = Structure(
    "RestoreTableFromBackupInput",
    {"TargetTableName": _TARGET, "BackupArn": _BACKUP_ARN, **_OVERRIDES},
    required=("TargetTableName", "BackupArn"),
)
CREATE_BACKUP: Final = Structure(
    "CreateBackupInput",
    {
        "TableName": _TABLE,
        "BackupName": String(minimum=3, maximum=255, pattern=NAME_PATTERN),
    },
    required=("TableName", "BackupName"),
)
DESCRIBE_BACKUP: Final = Structure(
    "DescribeBackupInput", {"BackupArn": _BACKUP_ARN}, required=("BackupArn",)
)
DELETE_BACKUP: Final = Structure(
    "DeleteBackupInput", {"BackupArn": _BACKUP_ARN}, required=("BackupArn",)
)
LIST_BACKUPS: Final = Structure(
    "ListBackupsInput",
    {
        "TableName": _TABLE,
        "Limit": Number("Integer", minimum=1, maximum=100),
        "TimeRangeLowerBound": _TIME,
        "TimeRangeUpperBound": _TIME,
        "ExclusiveStartBackupArn": _BACKUP_ARN,
        "BackupType": String(enum=("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
    },
)
