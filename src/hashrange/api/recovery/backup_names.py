"""Finds the backup that a request names by its ARN."""

from __future__ import annotations

from hashrange.api.scope import RequestScope
from hashrange.errors import AccessDeniedException, BackupNotFoundException, ValidationException
from hashrange.model.backups import BackupRecord, split_backup_arn
from hashrange.storage.backups import BackupStore


async def find_backup(scope: RequestScope, arn: str) -> BackupRecord:
    """Return the backup with an ARN."""
    context = scope.context
    parts = split_backup_arn(arn)
    if parts is None:
        raise ValidationException("Invalid Backup ARN")
    account, region, table, id = parts
    if account != context.account:
        raise AccessDeniedException("Access is denied")
    backup = None
    if region == context.region:
        backup = await BackupStore(context.engine).find(account, region, id, table)
    if backup is None or not backup.is_kept(context.clock.now()):
        raise BackupNotFoundException(f"Backup not found: {arn}")
    scope.touch_table(table)
    return backup
