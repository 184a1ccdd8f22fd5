"""Records of backups of single tables. Pure.

A backup of a user is in files; the system backup that a protected table leaves behind is the store
of its items, which stays in the database for as long as the backup does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hashrange.errors import CorruptionError
from hashrange.model.recovery import SECONDS_PER_DAY

FORMAT: Final = 1
USER: Final = "USER"
SYSTEM: Final = "SYSTEM"
SYSTEM_BACKUP_SECONDS: Final = 35 * SECONDS_PER_DAY
SYSTEM_SUFFIX: Final = "00000000"

BACKUP_KIND: Final = "backup"
REMOVAL_KIND: Final = "backup-removal"
"""The kinds of jobs that make a backup, and that delete its files."""

_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([a-zA-Z0-9_.-]{3,255})"
    r"/backup/([0-9]{14}-[0-9a-f]{8})"
)


@dataclass(slots=True)
class BackupRecord:
    """A backup; `table` is the record of the table as it was, as plain values.

    `store` is the store of the items if the backup is kept in the database. `items` and `size` are
    those of the table when the backup was asked for, until it is made.
    """

    id: str
    account: str
    region: str
    name: str
    type: str
    created_at: float
    table: dict[str, Any]
    items: int = 0
    size: int = 0
    is_available: bool = False
    expires_at: float | None = None
    store: str = ""
    features: dict[str, Any] = field(default_factory=dict)  # SourceTableFeatureDetails

    @property
    def arn(self) -> str:
        table = f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table['name']}"
        return f"{table}/backup/{self.id}"

    @property
    def status(self) -> str:
        """Its BackupStatus."""
        return "AVAILABLE" if self.is_available else "CREATING"

    def is_kept(self, now: float) -> bool:
        """Tell whether the backup has not expired."""
        return self.expires_at is None or now < self.expires_at

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "backup": self})


def unpack_backup(row: bytes) -> BackupRecord:
    """Return the record of a row."""
    try:
        document = orjson.loads(row)
        if document["format"] != FORMAT:
            raise CorruptionError(f"backup of format {document['format']!r}")
        return BackupRecord(**document["backup"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CorruptionError(f"row is not a backup: {row[:80]!r}") from error


def split_backup_arn(arn: str) -> tuple[str, str, str, str] | None:
    """Return account, region, table and id of a backup's ARN, None if it is none."""
    match = _ARN.fullmatch(arn)
    if match is None:
        return None
    region, account, table, id = match.groups()
    return account, region, table, id
