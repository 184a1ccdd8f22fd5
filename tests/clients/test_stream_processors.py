"""A stream processor written for Lambda in JavaScript, unchanged, and its twin in Python."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import boto3
import pytest

from tests.clients.conftest import EXAMPLES
from tests.harness.server import answers, free_port

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "stream-processor"
# What the JavaScript leaves to its surroundings, done as the Python twin does it.
SURROUNDINGS = """
import { appendFileSync } from 'node:fs';

const plain = (value) => {
  const [kind, content] = Object.entries(value)[0];
  return kind === 'N' ? Number(content) : content;
};
globalThis.unmarshall = (image) =>
  Object.fromEntries(Object.entries(image).map(([name, value]) => [name, plain(value)]));
const effect = (action, details) => {
  if (details.id === 'poison') throw new Error('the search index does not take poison');
  appendFileSync('effects.jsonl', JSON.stringify({ action, ...details }) + '\\n');
};
globalThis.indexToElasticsearch = async (item) => effect('index', { id: item.id });
globalThis.sendOrderNotification = async (item) => effect('notify', { id: item.id });
globalThis.createAuditLog = async (entry) =>
  effect('audit', { id: entry.entityId, changes: entry.changes });
globalThis.calculateDiff = (old, item) =>
  [...new Set([...Object.keys(old), ...Object.keys(item)])]
    .filter((name) => old[name] !== item[name])
    .sort();
globalThis.invalidateUserCache = async (user) => effect('invalidate', { user });
globalThis.cleanupUserData = async (user) => effect('cleanup', { user });
"""
EXPECTED = [
    {"action": "index", "id": "p1"},
    {"action": "notify", "id": "o1"},
    {"action": "audit", "id": "o1", "changes": ["state"]},
    {"action": "audit", "id": "u1", "changes": ["name"]},
    {"action": "invalidate", "user": "u1"},
    {"action": "cleanup", "user": "u1"},
    {"action": "index", "id": "p2"},
]


@pytest.fixture
def shop(tmp_path):
    """A table with a stream on a server that runs in the test's directory."""
    port = free_port()
    command = [sys.executable, "-m", "hashrange", "serve", "--in-memory", "--port", str(port)]
    command += ["--allow-functions"]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
    try:
        eventually(lambda: answers(port))
        yield Shop(port, tmp_path)
    finally:
        process.terminate()
        process.wait(20)


class Shop:
    """The table, its stream, and what the processor did."""

    def __init__(self, port, home):
        self.home = home
        self.url = f"http://127.0.0.1:{port}"
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        place = {"endpoint_url": self.url, "region_name": "us-east-1", **keys}
        self.triggers = boto3.client("lambda", **place)
        self.table = boto3.resource("dynamodb", **place).create_table(
            TableName="shop",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )

    def register(self, *arguments):
        command = [sys.executable, "-m", "hashrange", "triggers", "functions", "add", "processor"]
        where = ["--endpoint", self.url]
        subprocess.run([*command, *arguments, *where], cwd=self.home, check=True)

    def map(self, **options):
        self.triggers.create_event_source_mapping(
            FunctionName="processor",
            EventSourceArn=self.table.latest_stream_arn,
            StartingPosition="TRIM_HORIZON",
            FunctionResponseTypes=["ReportBatchItemFailures"],
            MaximumRetryAttempts=1,
            DestinationConfig={"OnFailure": {"Destination": f"file://{self.home}/lost.jsonl"}},
            **options,
        )

    def trade(self):
        """Change the table in every way the processor knows, with one item it cannot take."""
        self.table.put_item(Item={"id": "p1", "type": "PRODUCT"})
        self.table.put_item(Item={"id": "o1", "type": "ORDER", "state": "new"})
        self.table.put_item(Item={"id": "o1", "type": "ORDER", "state": "paid"})
        self.table.put_item(Item={"id": "u1", "type": "USER", "userId": "u1", "name": "A"})
        self.table.put_item(Item={"id": "u1", "type": "USER", "userId": "u1", "name": "B"})
        self.table.put_item(Item={"id": "poison", "type": "PRODUCT"})
        self.table.delete_item(Key={"id": "u1"})
        self.table.put_item(Item={"id": "p2", "type": "PRODUCT"})

    def lines(self, name):
        path = self.home / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def eventually(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def lost_keys(shop):
    reports = [json.loads(report["payload"]) for report in shop.lines("lost.jsonl")]
    return [
        record["dynamodb"]["Keys"]["id"]["S"] for event in reports for record in event["Records"]
    ]


def test_the_python_processor_of_the_examples(shop):
    shutil.copy(EXAMPLE / "stream_processor.py", shop.home)
    shop.register("--python", "stream_processor:handler")
    shop.trade()
    shop.map(BisectBatchOnFunctionError=True)
    eventually(lambda: EXPECTED[-1] in shop.lines("effects.jsonl"))
    assert shop.lines("effects.jsonl") == EXPECTED
    assert lost_keys(shop) == ["poison"]


@pytest.mark.examples
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_a_javascript_processor_written_for_lambda_runs_unchanged(shop):
    texts = [path.read_text() for path in sorted(EXAMPLES.iterdir()) if path.is_file()]
    blocks = [b for t in texts for b in re.findall(r"```javascript\n(.*?)```", t, re.DOTALL)]
    (code,) = [block for block in blocks if "export const streamProcessor" in block]
    (shop.home / "processor.mjs").write_text(code)
    (shop.home / "surroundings.mjs").write_text(SURROUNDINGS)
    shutil.copy(EXAMPLE / "run_handler.mjs", shop.home)
    line = "node --import ./surroundings.mjs run_handler.mjs processor.mjs streamProcessor"
    shop.register("--command", line)
    shop.trade()
    # It names failed records by their event ids, which Lambda does not know: all of the batch
    # counts as failed, so only bisection leads around the poison, and effects come twice.
    shop.map(BisectBatchOnFunctionError=True)
    eventually(lambda: lost_keys(shop))
    eventually(lambda: EXPECTED[-1] in shop.lines("effects.jsonl")[-1:])
    effects = shop.lines("effects.jsonl")
    assert [e for n, e in enumerate(effects) if e not in effects[:n]] == EXPECTED
    assert lost_keys(shop) == ["poison"]
