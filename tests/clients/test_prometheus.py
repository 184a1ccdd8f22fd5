"""A real Prometheus scrapes the server, and finds what was sent; `make prometheus` runs it."""

import json
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import boto3
import pytest

from tests.harness import server

pytestmark = pytest.mark.prometheus

WAIT_SECONDS_MAX = 30.0
READS, WRITES = 7, 5
DASHBOARD = pathlib.Path(__file__).parents[2] / "deploy" / "grafana.json"
HOW = (
    "is not on the PATH. On Debian: apt-get install prometheus. Without being root: "
    "apt-get download prometheus; dpkg -x prometheus_*.deb prometheus; "
    "make prometheus PATH=$PWD/prometheus/usr/bin:$PATH"
)
CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
scrape_configs:
  - job_name: hashrange
    static_configs: [{{targets: ["{target}"]}}]
"""


def tool(name):
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} {HOW}")
    return found


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A server with two workers that has answered some requests; its address."""
    port = server.free_port()
    command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port), "--workers", "2"]
    directory = tmp_path_factory.mktemp("data")
    with server.running([*command, "--data-dir", str(directory)], port) as url:
        dynamodb = boto3.client(
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        dynamodb.create_table(
            TableName="Music",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
        )
        for number in range(WRITES):
            dynamodb.put_item(TableName="Music", Item={"a": {"S": str(number)}})
        for number in range(READS):
            dynamodb.get_item(TableName="Music", Key={"a": {"S": str(number)}}, ConsistentRead=True)
        dynamodb.scan(TableName="Music", ConsistentRead=True)
        yield url


@pytest.fixture(scope="module")
def prometheus(busy, tmp_path_factory):
    """A Prometheus that scrapes the server every second; its address."""
    binary = tool("prometheus")
    directory = tmp_path_factory.mktemp("prometheus")
    (directory / "prometheus.yml").write_text(
        CONFIGURATION.format(target=busy.removeprefix("http://"))
    )
    port = server.free_port()
    command = [
        binary,
        f"--config.file={directory / 'prometheus.yml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with server.running(command, port) as url:
        yield url


def ask(prometheus, query):
    """Return the series that a query finds now: labels and value."""
    asked = urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(f"{prometheus}/api/v1/query?{asked}") as answer:
        found = json.load(answer)["data"]["result"]
    return [(series["metric"], float(series["value"][1])) for series in found]


def wait_for(ask_again, expected):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while (found := ask_again()) != expected:
        assert time.monotonic() < deadline, f"{found} did not become {expected}"
        time.sleep(0.1)


def total(prometheus, name, **labels):
    chosen = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return sum(value for _, value in ask(prometheus, f"{name}{{{chosen}}}"))


def test_promtool_has_no_complaints(busy):
    with urllib.request.urlopen(f"{busy}/metrics") as answer:
        text = answer.read()
    checked = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_the_target_is_up(prometheus):
    wait_for(lambda: [value for _, value in ask(prometheus, "up")], [1.0])


def test_prometheus_counts_what_was_sent(prometheus):
    # What the other worker measured follows within five seconds.
    reads, writes = "hashrange_consumed_read_units_total", "hashrange_consumed_write_units_total"
    wait_for(lambda: total(prometheus, reads, table="Music"), READS + 1)
    wait_for(lambda: total(prometheus, writes, table="Music"), WRITES)
    durations = "hashrange_request_duration_seconds_count"
    wait_for(lambda: total(prometheus, durations, operation="GetItem"), READS)
    wait_for(lambda: total(prometheus, durations, operation="PutItem"), WRITES)
    wait_for(lambda: total(prometheus, "hashrange_returned_items_total"), WRITES)


def test_the_questions_of_the_dashboard_can_be_answered(prometheus):
    wait_for(lambda: total(prometheus, "up"), 1.0)
    panels = json.loads(DASHBOARD.read_text())["panels"]
    questions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    assert questions
    for question in questions:
        ask(prometheus, question.replace("$__rate_interval", "1m").replace("$table", ".*"))
