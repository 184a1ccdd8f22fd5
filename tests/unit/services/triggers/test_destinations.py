"""Reports of discarded batches: their content, and attempts to deliver them."""

import asyncio
import json
from typing import Any

import pytest

from hashrange.model.triggers import MappingRecord
from hashrange.services.triggers import destinations
from hashrange.services.triggers.destinations import Destinations, make_report
from hashrange.services.triggers.lanes import RETRIES_EXHAUSTED, Discard, Entry, Outcome

NOW = 1_800_000_000.25


def mapping(destination):
    return MappingRecord(
        *("uuid", "123456789012", "eu-west-1", "stream", "orders", "LATEST"),
        destination=destination,
    )


def discard(condition=RETRIES_EXHAUSTED):
    entries = [
        Entry(number, str(number), NOW - 10 + number, b'{"n":%d}' % number) for number in (1, 2)
    ]
    return Discard(entries, condition, 3)


class FakeFunctions:
    """Functions that answer with the given outcomes."""

    meter = None

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.events = []

    async def invoke(self, world, name, invocation):
        self.events.append((world, name, json.loads(invocation.event)))
        return self.outcomes.pop(0)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(destinations, "_PAUSE_SECONDS", 0)


def report(functions: Any, destination):
    asyncio.run(Destinations(functions).report(mapping(destination), "shard", discard(), NOW))


def test_a_report_says_what_happened_and_where_the_records_are():
    made = make_report(mapping(None), "shard", discard(), NOW)
    assert made["requestContext"]["condition"] == RETRIES_EXHAUSTED
    assert made["requestContext"]["approximateInvokeCount"] == 3
    assert made["timestamp"] == "2027-01-15T08:00:00.250Z"
    assert made["DDBStreamBatchInfo"] == {
        "shardId": "shard",
        "startSequenceNumber": "1",
        "endSequenceNumber": "2",
        "approximateArrivalOfFirstRecord": "2027-01-15T07:59:51Z",
        "approximateArrivalOfLastRecord": "2027-01-15T07:59:52Z",
        "batchSize": 2,
        "streamArn": "stream",
    }
    assert json.loads(made["payload"]) == {"Records": [{"n": 1}, {"n": 2}]}


def test_only_a_function_that_failed_has_a_response():
    assert "responseContext" in make_report(mapping(None), "shard", discard(), NOW)
    aged = discard("RecordAgeExceeded")
    assert "responseContext" not in make_report(mapping(None), "shard", aged, NOW)


def test_reports_are_appended_to_a_file_line_by_line(tmp_path):
    path = tmp_path / "discarded batches.jsonl"
    for _ in range(2):
        report(FakeFunctions(), path.as_uri())
    lines = path.read_text().splitlines()
    assert [json.loads(line)["version"] for line in lines] == ["1.0", "1.0"]


def test_a_function_that_fails_is_called_again():
    functions = FakeFunctions(Outcome(error="no"), Outcome())
    report(functions, "arn:aws:lambda:eu-west-1:123456789012:function:audit")
    assert [(world, name) for world, name, _ in functions.events] == [
        (("123456789012", "eu-west-1"), "audit")
    ] * 2


def test_a_report_is_given_up_after_three_attempts_and_logged(tmp_path, caplog):
    report(FakeFunctions(), (tmp_path / "absent" / "file").as_uri())
    attempts = [record for record in caplog.records if "cannot report to" in record.message]
    assert len(attempts) == 3


def test_without_a_destination_a_discard_is_only_logged(caplog):
    report(FakeFunctions(), None)
    assert "discards 2 records from 1 on" in caplog.text
