"""What was changed, and putting it back, against a server."""

import io
import json

import pytest

from hashrange.cli.data import commands
from hashrange.cli.main import build_parser

TABLE = "Songs"


@pytest.fixture
def shell(dynamodb_server, monkeypatch, capsys):
    """Run a command against a server with a protected table; return status, output, complaints."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamodb_server.endpoint_url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = dynamodb_server.client()
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
        KeySchema=[
            {"AttributeName": "id", "KeyType": "HASH"},
            {"AttributeName": "n", "KeyType": "RANGE"},
        ],
    )
    client.update_continuous_backups(
        TableName=TABLE, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", stdin if hasattr(stdin, "read") else io.StringIO(stdin))
        status = commands.run(build_parser().parse_args(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def songs(shell, dynamodb_server):
    """A table with a mishap: the times before and after it."""
    clock = dynamodb_server.clock

    def put(id, title):
        item = json.dumps({"id": id, "n": 1, "title": title})
        assert shell("put", TABLE, item) == (0, "", "")

    clock.advance(10)
    put("kept", "right")
    put("changed", "right")
    put("deleted", "right")
    clock.advance(10)
    before = str(clock.now())
    clock.advance(10)
    put("changed", "wrong")
    put("changed", "worse")
    put("inserted", "wrong")
    shell("delete", TABLE, "deleted", "1")
    put("newer", "wrong")
    put("untouched", "passing")
    shell("delete", TABLE, "untouched", "1")
    clock.advance(10)
    after = str(clock.now())
    clock.advance(10)
    put("newer", "meant")
    return before, after


def titles(shell):
    _, lines, _ = shell("scan", TABLE, "--output", "lines")
    return {item["id"]: item["title"] for item in map(json.loads, lines.splitlines())}


def test_the_history_of_an_item(shell, songs):
    status, shown, remark = shell("history", TABLE, "changed", "1")
    assert (status, remark) == (0, "3 changes\n")
    header, *rows = shown.splitlines()
    assert header.split() == ["time", "change", "by", "item"]
    assert [("INSERT" in row, "right" in row) for row in rows] == [
        (True, True),
        (False, False),
        (False, False),
    ]
    _, shown, _ = shell("history", TABLE, "changed", "--from", songs[0], "--output", "lines")
    first, second = map(json.loads, shown.splitlines())
    assert (first["old"]["title"], first["new"]["title"]) == ("right", "wrong")
    assert second["key"] == {"id": "changed", "n": 1}
    assert shell("history", TABLE, "a", "b", "c")[0] == 2


def test_an_undo_is_shown_and_not_done_unless_it_is_wanted(shell, songs):
    before = titles(shell)
    status, shown, remark = shell("undo", TABLE, "--from", songs[0], "--to", songs[1])
    assert status == 0
    assert remark == "nothing was changed; --yes puts 3 items back\n"
    lines = {line.split('"')[1]: line for line in shown.splitlines()}
    assert lines["changed"].startswith('put back  ["changed", 1]  {"')
    assert '"title": "right"' in lines["deleted"]
    assert lines["inserted"] == 'delete  ["inserted", 1]'
    assert lines["newer"] == 'keep  ["newer", 1]  changed after the interval'
    assert lines["untouched"] == 'keep  ["untouched", 1]  is as it was'
    assert "kept" not in lines
    assert titles(shell) == before


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_at_a_terminal_an_undo_asks(shell, songs):
    undo = ("undo", TABLE, "--from", songs[0], "--to", songs[1])
    assert shell(*undo, stdin=Terminal("n\n"))[0] == 0
    assert titles(shell)["changed"] == "worse"
    status, _, remark = shell(*undo, stdin=Terminal("y\n"))
    assert (status, titles(shell)["changed"]) == (1, "right")  # 1, since one item was kept
    assert remark.endswith("3 put back, 1 left alone because they were changed later\n")


def test_an_undo_puts_back_what_it_may(shell, songs):
    status, _, _ = shell("undo", TABLE, "--from", songs[0], "--to", songs[1], "--yes")
    assert status == 1
    wanted = {"kept": "right", "changed": "right", "deleted": "right", "newer": "meant"}
    assert titles(shell) == wanted


def test_one_item_can_be_put_back_and_an_undo_undone(shell, songs, dynamodb_server):
    status, _, remark = shell("undo", TABLE, "deleted", "1", "--from", songs[0], "--yes")
    assert (status, remark) == (0, "1 put back, 0 left alone because they were changed later\n")
    assert titles(shell)["deleted"] == "right"
    assert titles(shell)["changed"] == "worse"
    now = str(dynamodb_server.clock.now() - 1)
    shell("undo", TABLE, "deleted", "1", "--from", now, "--yes")
    assert "deleted" not in titles(shell)


def test_what_is_no_time_or_no_window_is_refused(shell, songs):
    assert shell("undo", TABLE, "--from", "noon")[0] == 2
    status, _, remark = shell("undo", TABLE, "--from", "1000")
    assert status == 1
    assert "InvalidRestoreTimeException" in remark
