"""Backups in an S3 service, here another server: made by one server, restored by another."""

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli import backups
from hashrange.cli.main import build_parser
from tests.faults.served import eventually
from tests.transfers.conftest import DEFINITION, make_items, put_all, start


def test_another_server_restores_what_one_server_backed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text("[default]\naws_access_key_id = AKID\naws_secret_access_key = secret\n")
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(start("memory", tmp_path / "service"))
        service.client("s3").create_bucket(Bucket="archive")
        remote = ("--s3-endpoint", service.url, "--s3-credentials", str(credentials))
        place = ("--backup-dir", "s3://archive/prod", *remote)
        with start("memory", tmp_path / "first", *place) as first:
            dynamodb = first.client("dynamodb")
            dynamodb.create_table(TableName="games", **DEFINITION)
            items = make_items(50)
            put_all(dynamodb, "games", items)
            made = dynamodb.create_backup(TableName="games", BackupName="nightly")
            arn = made["BackupDetails"]["BackupArn"]
            eventually(partial(_is_available, dynamodb, arn), "the backup is available")
        assert (service.buckets / "archive" / "prod" / "tables").is_dir()
        verb = ["backup", "verify", "s3://archive/prod", *remote]
        assert backups.run(build_parser().parse_args(verb), {}) == 0
        assert "50 items in 1 parts are good" in capsys.readouterr().out
        second = stack.enter_context(start("memory", tmp_path / "second", *place))
        dynamodb = second.client("dynamodb")
        eventually(partial(_is_listed, dynamodb), "the backup is listed")
        dynamodb.restore_table_from_backup(TargetTableName="games", BackupArn=arn)
        dynamodb.get_waiter("table_exists").wait(TableName="games", WaiterConfig={"Delay": 1})
        assert dynamodb.scan(TableName="games")["Count"] == len(items)


def _is_available(dynamodb: Any, arn: str) -> bool:
    described = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]
    return bool(described["BackupDetails"]["BackupStatus"] == "AVAILABLE")


def _is_listed(dynamodb: Any) -> bool:
    return bool(dynamodb.list_backups()["BackupSummaries"])
