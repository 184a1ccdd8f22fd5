"""Backups that another server made are listed and restored; those being deleted are not."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.app.database import Database
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.objects.backups import BackupFiles
from hashrange.objects.folder import FolderStore
from hashrange.services.backup_adoption import BackupAdoption
from tests.harness.protected import TABLE, ProtectedTable


class Site(ProtectedTable):
    """A database that keeps its backups in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(is_protected=False)
        self.runner.run(self.database.close())
        self.files = BackupFiles(FolderStore(folder, is_inline=True), "tables", is_inline=True)
        self.database = Database(
            MemoryEngine(), self.clock, is_inline=True, backup_files=self.files
        )
        self.adoption = BackupAdoption(self.database.engine, self.files)

    def adopt(self) -> list[Any]:
        """Look for backups; return the ARNs of all that are listed then."""
        self.runner.run(self.adoption.step())
        return [each["BackupArn"] for each in self.call("ListBackups")["BackupSummaries"]]

    def fill(self) -> str:
        """Make a table and a backup of it; return the ARN."""
        self.call(
            "CreateTable",
            TableName=TABLE,
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        self.call("PutItem", TableName=TABLE, Item={"p": {"S": "a"}})
        arn = self.call("CreateBackup", TableName=TABLE, BackupName="nightly")["BackupDetails"]
        return str(arn["BackupArn"])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Open databases with one folder of backups, which are closed in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda folder=tmp_path: stack.enter_context(contextlib.closing(Site(folder)))


def test_another_server_restores_a_backup_that_it_found(site: Callable[..., Site]) -> None:
    made = site()
    arn = made.fill()
    assert made.adopt() == [arn]
    found = site()
    assert found.adopt() == found.adopt() == [arn]
    found.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="restored")
    assert found.scan(table="restored") == [{"p": {"S": "a"}}]


def test_a_deleted_backup_does_not_come_back(site: Callable[..., Site], tmp_path: Path) -> None:
    made = site()
    arn = made.fill()
    made.adopt()
    assert made.call("DescribeBackup", BackupArn=arn)
    # Deleted from the list; the files are still there until the next call.
    made.call("DeleteBackup", BackupArn=arn)
    assert any(tmp_path.rglob("manifest.json"))
    made.runner.run(made.adoption.step())
    assert made.call("ListBackups")["BackupSummaries"] == []
    assert made.adopt() == []


def test_what_cannot_be_read_is_logged_and_left_alone(
    site: Callable[..., Site], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert site(tmp_path / "missing").adopt() == []
    made = site()
    made.fill()
    made.adopt()
    (manifest,) = tmp_path.glob("tables/0*/manifest.json")
    manifest.write_bytes(manifest.read_bytes().replace(b"nightly", b"monthly"))
    assert site().adopt() == []
    assert "is not listed: the manifest of backup" in caplog.text
