"""Tables to files and back, in every form."""

import gzip
import io
from typing import Any

import pyarrow.parquet
import pytest

from hashrange.cli.data import commands
from hashrange.cli.main import build_parser

ITEMS: list[dict[str, Any]] = [
    {
        "k": {"S": 'a,"b"\n'},
        "n": {"N": "1.25"},
        "b": {"B": b"\x00\xff"},
        "set": {"NS": ["1", "2"]},
        "map": {"M": {"x": {"L": [{"BOOL": True}, {"NULL": True}]}}},
    },
    {"k": {"S": "plain"}, "other": {"S": "text"}},
]


@pytest.fixture
def client(dynamodb_server):
    return dynamodb_server.client()


@pytest.fixture
def shell(client, dynamodb_server, monkeypatch, capsys):
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamodb_server.endpoint_url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("source", "target"):
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        )
    for item in ITEMS:
        client.put_item(TableName="source", Item=item)

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        status = commands.run(build_parser().parse_args(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    vars(run)["client"] = client
    return run


def contents(client, table):
    return {item["k"]["S"]: item for item in client.scan(TableName=table)["Items"]}


@pytest.mark.parametrize("form", ["json", "dynamodb"])
@pytest.mark.parametrize("name", ["items", "items.gz"])
def test_items_come_back_as_they_were(client, shell, tmp_path, form, name):
    path = str(tmp_path / name)
    assert shell("export", "source", path, "--form", form) == (0, "", "exported 2 items\n")
    assert shell("import", "target", path, "--form", form) == (0, "", "imported 2 items\n")
    assert contents(client, "target") == contents(client, "source")
    if name.endswith(".gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).count(b"\n") == 2


def test_csv_has_a_column_for_each_attribute_and_reads_texts(client, shell):
    status, text, _ = shell("export", "source", "-", "--form", "csv")
    assert (status, text.splitlines()[0].split(",")[0]) == (0, "k")
    shell("import", "target", "-", "--form", "csv", stdin="k,note\nx,\ny,hello\n")
    assert contents(client, "target") == {
        "x": {"k": {"S": "x"}},
        "y": {"k": {"S": "y"}, "note": {"S": "hello"}},
    }


def test_parquet_is_written_to_files_only(shell, tmp_path):
    path = tmp_path / "items.parquet"
    assert shell("export", "source", str(path), "--form", "parquet")[0] == 0
    table = pyarrow.parquet.read_table(path)
    assert table.column_names[0] == "k"
    assert sorted(table.column("k").to_pylist()) == sorted(item["k"]["S"] for item in ITEMS)
    status, _, told = shell("export", "source", "-", "--form", "parquet")
    assert (status, "Parquet is written to a file" in told) == (2, True)
    status, _, told = shell("export", "source", "/nowhere/x.parquet", "--form", "parquet")
    assert (status, "cannot write /nowhere/x.parquet" in told) == (2, True)


def test_the_last_of_two_items_with_one_key_counts(client, shell):
    shell("import", "target", "-", stdin='{"k": "x", "n": 1}\n\n{"k": "x", "n": 2}\n')
    assert contents(client, "target") == {"x": {"k": {"S": "x"}, "n": {"N": "2"}}}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("import", "target", "/nowhere/file"), "cannot open /nowhere/file"),
        (("import", "target", "-"), "this is no JSON"),
        (("import", "target", "-", "--form", "dynamodb"), "this is no JSON"),
    ],
)
def test_what_cannot_be_read_is_told(shell, arguments, complaint):
    status, _, told = shell(*arguments, stdin="no json\n")
    assert status == 2
    assert complaint in told
