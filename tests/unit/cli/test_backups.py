"""`hashrange backup`, and reads of the past from a terminal."""

import asyncio

import pytest

from hashrange.cli import backups
from hashrange.cli.data import commands
from hashrange.cli.main import build_parser
from tests.unit.objects.test_backups import ID, KEY, made


def run(*arguments: str) -> int:
    return backups.run(build_parser().parse_args(["backup", *arguments]), {})


@pytest.fixture
def folder(tmp_path):
    """A folder with a backup of 50 items, which its manifest describes."""
    files = made(tmp_path)
    manifest = asyncio.run(files.manifest(ID))
    described = {"created_at": 0.0, "name": "nightly", "items": 50, "table": {"name": "Music"}}
    asyncio.run(files.complete(ID, described, manifest["parts"]))
    return tmp_path


def test_backups_are_listed(folder, capsys):
    assert run("list", str(folder)) == 0
    assert capsys.readouterr().out == (
        f"{ID}  1970-01-01T00:00:00+00:00  Music  nightly  50 items\n"
    )


def test_encrypted_backups_are_listed_with_the_key(folder, tmp_path, capsys):
    files = made(tmp_path, KEY)
    described = {"created_at": 0.0, "name": "nightly", "items": 50, "table": {"name": "Music"}}
    asyncio.run(files.complete(ID, described, asyncio.run(files.manifest(ID))["parts"]))
    assert run("list", str(folder)) == 1
    assert "is encrypted, and this server has no key" in capsys.readouterr().err
    key = tmp_path / "key"
    key.write_text(KEY.hex())
    key.chmod(0o600)
    assert run("list", str(folder), "--key-file", str(key)) == 0
    assert "Music  nightly" in capsys.readouterr().out


def test_a_good_backup_is_verified(folder, capsys):
    assert run("verify", str(folder)) == run("verify", str(folder), ID) == 0
    assert f"{ID}: 50 items in 2 parts are good\n" in capsys.readouterr().out


def test_damage_is_told_and_is_the_exit_status(folder, capsys):
    path = folder / "tables" / ID / "part-00000"
    path.write_bytes(path.read_bytes()[:-1])
    assert run("verify", str(folder)) == 1
    assert capsys.readouterr().err == f"hashrange: {ID}/part-00000 is damaged\n"


def test_a_folder_without_backups_is_refused(tmp_path, capsys):
    assert run("list", str(tmp_path)) == 1
    assert "holds no backups" in capsys.readouterr().err


def test_a_terminal_can_read_the_past(dynamodb_server, monkeypatch, capsys):
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamodb_server.endpoint_url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = dynamodb_server.client()
    client.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}],
    )
    protected = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="Music", PointInTimeRecoverySpecification=protected)
    client.put_item(TableName="Music", Item={"artist": {"S": "nina"}, "song": {"S": "good"}})
    time = dynamodb_server.clock.now()
    dynamodb_server.clock.advance(1)
    client.delete_item(TableName="Music", Key={"artist": {"S": "nina"}})
    for words in (["get", "Music", "nina"], ["query", "Music", "nina"], ["scan", "Music"]):
        parsed = build_parser().parse_args([*words, "--at", str(time), "--output", "lines"])
        assert commands.run(parsed) == 0
        assert capsys.readouterr().out == '{"artist": "nina", "song": "good"}\n'
    parsed = build_parser().parse_args(["scan", "Music", "--output", "lines"])
    assert commands.run(parsed) == 0
    assert capsys.readouterr().out == ""
