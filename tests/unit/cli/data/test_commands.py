"""The commands for people, against a server."""

import io
import json

import pytest

from hashrange.cli.data import commands
from hashrange.cli.data.connection import endpoint_of
from hashrange.cli.data.prompt import Prompt
from hashrange.cli.main import build_parser


@pytest.fixture
def shell(dynamodb_server, monkeypatch, capsys):
    """Run a command against a server; return its status, output and complaints."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamodb_server.endpoint_url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        status = commands.run(build_parser().parse_args(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def music(dynamodb_server, shell):
    dynamodb_server.client().create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "artist", "AttributeType": "S"},
            {"AttributeName": "year", "AttributeType": "N"},
        ],
        KeySchema=[
            {"AttributeName": "artist", "KeyType": "HASH"},
            {"AttributeName": "year", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_year",
                "KeySchema": [{"AttributeName": "year", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
            }
        ],
    )
    for year, title in ((1958, "Little Girl Blue"), (1965, "Feeling Good"), (1969, "To Be Young")):
        item = {"artist": "Nina", "year": year, "title": title}
        assert shell("put", "Music", json.dumps(item)) == (0, "", "")
    return shell


def test_a_table_is_made_with_its_keys_and_can_be_used_at_once(shell, dynamodb_server):
    assert shell("create", "Songs", "artist", "year:N") == (0, "", "")
    assert shell("put", "Songs", '{"artist": "Nina", "year": 1965}') == (0, "", "")
    assert shell("get", "Songs", "Nina", "1965")[0] == 0
    table = dynamodb_server.client().describe_table(TableName="Songs")["Table"]
    assert table["KeySchema"] == [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "year", "KeyType": "RANGE"},
    ]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert shell("create", "Names", "id") == (0, "", "")
    status, _, complaint = shell("create", "Names", "id")
    assert (status, complaint.split(":")[1].strip()) == (1, "ResourceInUseException")


@pytest.mark.parametrize("key", ["year:X", ":N", "a:b:"])
def test_a_key_of_no_type_is_refused(shell, key):
    status, _, complaint = shell("create", "Songs", key)
    assert (status, complaint) == (
        2,
        f"hashrange: {key}: a key is NAME, NAME:S, NAME:N or NAME:B\n",
    )


def test_tables_and_their_descriptions(music):
    _, listed, _ = music("tables", "--output", "json")
    (table,) = json.loads(listed)
    assert (table["name"], table["items"], table["indexes"]) == ("Music", 3, 1)
    _, shown, _ = music("describe", "Music")
    assert "artist (S), year (N)" in shown
    assert "by_year  global  year  INCLUDE title  ACTIVE  3" in shown
    _, document, _ = music("describe", "Music", "--output", "json")
    assert json.loads(document)["TableName"] == "Music"


def test_a_query_shows_a_range_of_a_partition(music):
    status, shown, remark = music("query", "Music", "Nina", ">=1960")
    assert status == 0
    assert shown.splitlines() == [
        "artist  year  title",
        "Nina    1965  Feeling Good",
        "Nina    1969  To Be Young",
    ]
    assert remark == "2 items\n"
    newest = music("query", "Music", "Nina", "--reverse", "--limit", "1", "--output", "lines")[1]
    assert json.loads(newest)["year"] == 1969


def test_a_query_of_an_index_with_chosen_attributes(music):
    shown = music(
        *("query", "Music", "1965", "--index", "by_year"),
        *("--attributes", "title, year", "--output", "lines"),
    )[1]
    assert json.loads(shown) == {"title": "Feeling Good", "year": 1965}


def test_one_item_is_shown_and_deleted(music):
    assert json.loads(music("get", "Music", "Nina", "1965", "--output", "lines")[1])["title"]
    assert music("delete", "Music", "Nina", "1965") == (0, "", "")
    gone = (1, "", "hashrange: there is no such item\n")
    assert music("get", "Music", "Nina", "1965") == gone
    assert music("delete", "Music", "Nina", "1965") == gone


def test_a_new_item_does_not_replace_another(music):
    item = '{"artist": {"S": "Nina"}, "year": {"N": "1965"}}'
    status, _, complaint = music("put", "Music", "-", "--typed", "--new", stdin=item)
    assert status == 1
    assert complaint.startswith("hashrange: ConditionalCheckFailedException")


def test_a_scan_shows_every_item(music):
    shown = music("scan", "Music", "--output", "lines")[1].splitlines()
    assert {json.loads(line)["year"] for line in shown} == {1958, 1965, 1969}


def test_a_statement_runs_and_a_pipe_of_statements_tells_of_failures(music):
    statement = "SELECT title FROM Music WHERE artist = 'Nina' AND \"year\" = 1965"
    assert music("sql", statement)[1].splitlines() == ["title", "Feeling Good"]
    pipe = f"{statement};\n\\t\n\\d Music\n\\x\nSELECT\nnonsense;\nSELECT title FROM Music"
    status, shown, complaints = music("sql", "--output", "lines", stdin=pipe)
    assert status == 1
    assert shown.count('{"title"') == 4
    assert "artist (S), year (N)" in shown
    assert "\\t lists tables" in complaints
    assert "ValidationException" in complaints


def test_mistakes_have_status_2_and_refusals_status_1(music):
    assert music("get", "Music", "Nina")[0] == 2
    status, _, complaint = music("describe", "Missing")
    assert status == 1
    assert complaint.startswith("hashrange: ResourceNotFoundException")


def test_a_server_that_does_not_answer_is_named(shell, monkeypatch):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    status, _, complaint = shell("tables", "--endpoint-url", "http://127.0.0.1:1")
    assert status == 1
    assert "http://127.0.0.1:1" in complaint


def test_control_characters_do_not_reach_the_terminal(music):
    music("put", "Music", json.dumps({"artist": "x", "year": 1, "title": "\x1b[31mred\n"}))
    assert "\\x1b[31mred\\n" in music("query", "Music", "x")[1]


def test_without_a_named_endpoint_the_server_on_this_machine_is_used():
    assert endpoint_of(None, {}) == "http://127.0.0.1:8000"
    assert endpoint_of(None, {"AWS_ENDPOINT_URL": "http://a"}) == "http://a"
    assert endpoint_of("http://b", {"AWS_ENDPOINT_URL": "http://a"}) == "http://b"


def test_words_are_completed():
    prompt = Prompt(None, "table")
    assert prompt.complete("sel", 0) == "SELECT"
    assert prompt.complete("sel", 1) is None
