"""Pages of other origins neither read nor change what is on an open server of this machine."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Report, page_address, site, visiting
from tests.faults.served import HEADERS
from tests.harness.server import free_port, hashrange

pytestmark = pytest.mark.browser

EVIL = "evil.example"
# What a page sends without asking first; the browser gives it nothing to read in any case.
BLIND = {"beacon", "posted form", "posted plain text", "posted parts"}
ITEM = {"id": {"S": "kept"}, "n": {"N": "7"}}


class Database:
    """A program that uses a server, as a page must not."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])

    def call(self, operation: str, **request: object) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        connection.request("POST", "/", json.dumps(request), headers)
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def fill(self) -> None:
        self.call(
            "CreateTable",
            TableName="things",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        self.call("PutItem", TableName="things", Item=ITEM)

    def items(self) -> list[Any]:
        found: list[Any] = self.call("Scan", TableName="things").get("Items", [])
        return found

    def topics(self) -> bytes:
        """Return what there is of SNS, which a form could change."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {**HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
        headers["Authorization"] = HEADERS["Authorization"].replace("dynamodb", "sns")
        connection.request("POST", "/", "Action=ListTopics&Version=2010-03-31", headers)
        body = connection.getresponse().read()
        connection.close()
        assert b"ListTopicsResponse" in body
        return body


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with hashrange(*getattr(request, "param", ())) as url:
        database = Database(url)
        database.fill()
        yield database


def assert_nothing_achieved(report: Report, database: Database) -> None:
    read = {name: text for name, text in report.items() if text and not text.startswith("403 ")}
    assert not read, "a page could read"
    assert len(report) > 15
    assert database.items() == [ITEM]
    assert b"planted" not in database.topics()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", EVIL])
def test_a_page_of_another_origin_achieves_nothing(
    database: Database, host: str, tmp_path: Path
) -> None:
    with site() as pages:
        origin = f"http://{host}:{pages.port}"
        address = page_address(origin, database.url, f"{origin}/report")
        with visiting(address, tmp_path, [f"MAP {EVIL} 127.0.0.1"]):
            report = pages.next_report()
    assert_nothing_achieved(report, database)
    # The browser itself keeps the page from every answer.
    assert {name for name, text in report.items() if text is not None} <= BLIND | {
        name for name in report if name.startswith("no-cors")
    }


def test_a_page_whose_name_leads_to_the_server_later_achieves_nothing(
    database: Database, tmp_path: Path
) -> None:
    """DNS rebinding: the server is the page's own origin, for all the browser knows."""
    origin = f"http://{EVIL}:{database.port}"
    with site() as reports, site("127.0.0.2", database.port) as pages:
        report_to = f"http://127.0.0.1:{reports.port}/report"
        address = page_address(origin, origin, report_to)
        with visiting(address, tmp_path, [f"MAP {EVIL} 127.0.0.2"]):
            before = reports.next_report()
        del pages
        # The page comes from the browser's cache, and all it asks for from the database.
        with visiting(address, tmp_path, [f"MAP {EVIL} 127.0.0.1"]):
            report = reports.next_report()
    assert before["get health"] != report["get health"]
    assert str(report["get health"]).startswith("403 ")
    assert_nothing_achieved(report, database)


def test_a_page_of_an_allowed_origin_reads_and_deletes(tmp_path: Path) -> None:
    port = free_port()
    origin = f"http://{EVIL}:{port}"
    with (
        site(port=port) as pages,
        hashrange("--cors-origin", origin) as url,
        visiting_once(page_address(origin, url, f"{origin}/report"), tmp_path, url),
    ):
        report = pages.next_report()
        assert str(report["get"]).startswith("200 ")
        assert json.loads(str(report["get"])[4:])["Item"] == ITEM
        assert report["delete"] == "200 {}"
        assert str(report["drop"]).startswith("200 ")
        assert Database(url).call("ListTables")["TableNames"] == []


def visiting_once(address: str, profile: Path, url: str) -> Any:
    """Fill the database before the browser comes."""
    Database(url).fill()
    return visiting(address, profile, [f"MAP {EVIL} 127.0.0.1"])
