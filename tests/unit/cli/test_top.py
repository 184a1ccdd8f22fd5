"""`hashrange top`: figures between two looks at the totals of a server."""

import re

import pytest

from hashrange.cli import top_view
from hashrange.cli.main import main
from hashrange.metrics.samples import Samples
from hashrange.testing.server import serve


def samples(*values):
    found = Samples()
    for value in values:
        found.add(value)
    return found


LATENCY = ("SuccessfulRequestLatency", "Music", "GetItem")
UNITS = ("ConsumedReadCapacityUnits", "Music", "")


def test_rates_are_those_between_two_looks():
    before = {LATENCY: samples(1000.0), UNITS: samples(500.0)}
    now = {LATENCY: samples(1000.0, 2.0, 4.0), UNITS: samples(500.0, 6.0)}
    (line,) = top_view.lines_of(now, before, 2.0)
    assert (line.table, line.operation, line.requests, line.milliseconds) == (
        *("Music", "GetItem"),
        *(1.0, 3.0),
    )
    assert line.milliseconds_p99 == pytest.approx(4.0, rel=0.02)
    (usage,) = top_view.usage_of(now, before, 2.0)
    assert usage == ("Music", 3.0, 0.0, 0.0, 0.0)


def test_what_did_not_happen_is_not_shown():
    totals = {LATENCY: samples(1.0)}
    assert top_view.lines_of(totals, totals, 1.0) == []


def test_the_command_shows_the_totals_of_a_server(capsys):
    with serve() as server:
        dynamodb = server.client()
        dynamodb.create_table(
            TableName="Music",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
        )
        for _ in range(3):
            dynamodb.get_item(TableName="Music", Key={"a": {"S": "1"}})
        with pytest.raises(SystemExit) as ended:
            main(["top", "--once", "--endpoint-url", server.endpoint_url])
    assert ended.value.code == 0
    assert re.search(r"Music\W+GetItem\W+3.00", capsys.readouterr().out)


def test_a_server_that_does_not_answer_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["top", "--once", "--endpoint", "http://127.0.0.1:1"])
    assert ended.value.code == 1
    assert "No metrics at http://127.0.0.1:1" in capsys.readouterr().err
