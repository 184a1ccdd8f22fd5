"""The operations of backups, restores and point-in-time recovery."""

from __future__ import annotations

from typing import Final

from hashrange.api.operation import Operation
from hashrange.api.recovery.backups import (
    create_backup,
    delete_backup,
    describe_backup,
    list_backups,
)
from hashrange.api.recovery.continuous_backups import (
    describe_continuous_backups,
    update_continuous_backups,
)
from hashrange.api.recovery.restores import (
    restore_table_from_backup,
    restore_table_to_point_in_time,
)
from hashrange.api.shapes import recovery

OPERATIONS: Final = (
    Operation("CreateBackup", recovery.CREATE_BACKUP, create_backup),
    Operation("DeleteBackup", recovery.DELETE_BACKUP, delete_backup),
    Operation("DescribeBackup", recovery.DESCRIBE_BACKUP, describe_backup),
    Operation(
        "DescribeContinuousBackups",
        recovery.DESCRIBE_CONTINUOUS_BACKUPS,
        describe_continuous_backups,
    ),
    Operation("ListBackups", recovery.LIST_BACKUPS, list_backups),
    Operation(
        "RestoreTableFromBackup",
        recovery.RESTORE_TABLE_FROM_BACKUP,
        restore_table_from_backup,
    ),
    Operation(
        "RestoreTableToPointInTime",
        recovery.RESTORE_TABLE_TO_POINT_IN_TIME,
        restore_table_to_point_in_time,
    ),
    Operation(
        "UpdateContinuousBackups",
        recovery.UPDATE_CONTINUOUS_BACKUPS,
        update_continuous_backups,
    ),
)
