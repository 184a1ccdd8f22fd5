"""`hashrange copy` as a process: killed, it goes on."""

import json
import subprocess
import sys
import time
from pathlib import Path

import boto3

from tests.harness import server
from tests.transfers.conftest import DEFINITION, contents, make_items, put_all

WAIT_SECONDS_MAX = 60.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def command(source: str, target: str, *flags: str) -> list[str]:
    return [sys.executable, "-m", "hashrange", "copy", source, target, *flags]


def client_of(url: str):
    return boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1")


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def copied_items(state: Path) -> int:
    try:
        return sum(segment["items"] for segment in json.loads(state.read_text())["segments"])
    except FileNotFoundError:
        return 0


def test_a_killed_copy_goes_on_where_it_was(tmp_path: Path) -> None:
    with server.hashrange() as url, server.hashrange() as other:
        source = client_of(url)
        source.create_table(TableName="games", **DEFINITION, StreamSpecification=STREAM)
        put_all(source, "games", make_items(600))
        arguments = (f"{url}/games", f"{other}/")
        state = tmp_path / "state.json"
        flags = ("--segments", "2", "--state", str(state))
        process = subprocess.Popen(
            command(*arguments, *flags, "--rate", "100"), stderr=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + WAIT_SECONDS_MAX
            while not copied_items(state):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.02)
        finally:
            process.kill()
            process.wait()
        source.delete_item(TableName="games", Key={"a": {"S": "p1"}, "b": {"N": "1"}})
        told = run(tmp_path, *arguments, *flags)
        assert "going on from" in told
        assert "verified 599 items" in told
        assert contents(client_of(other), "games") == contents(source, "games")
        assert not state.exists()
