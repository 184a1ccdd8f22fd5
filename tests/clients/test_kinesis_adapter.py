"""Workers of the Kinesis Client Library on a stream, with AWS's adapter for DynamoDB Streams.

Version 1 goes with the AWS SDK for Java v1 and version 3 with v2. `make clients-java` runs them:
they need Java and Maven.
"""

import pathlib
import shutil
import subprocess
import threading
from collections import defaultdict

import pytest

from hashrange.limits import SHARD_SECONDS
from hashrange.testing import serve

SOURCES = pathlib.Path(__file__).parent / "java_streams"
WORKER_SECONDS_MAX = 120.0
KEYS = [f"k{number}" for number in range(40)]
# What would go to AWS finds nobody.
NOWHERE = [
    "-Dhttp.proxyHost=127.0.0.1",
    "-Dhttp.proxyPort=9",
    "-Dhttp.nonProxyHosts=127.0.0.1",
    "-Dhttps.proxyHost=127.0.0.1",
    "-Dhttps.proxyPort=9",
]


@pytest.fixture
def server():
    """A server whose clock the test moves."""
    with serve() as started:
        yield started


@pytest.fixture
def changes(server):
    return Changes(server)


@pytest.fixture(params=["kcl1", "kcl3"])
def start_worker(request, server, changes, tool_directory, environment, tmp_path):
    """Starts a worker of one application, as often as called."""
    home = tool_directory(f"java-{request.param}")
    shutil.copytree(SOURCES / request.param, home, dirs_exist_ok=True)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run(["mvn", "--quiet", "--batch-mode", copy], cwd=home, check=True)
    program = ["-cp", "target/dependency/*", "StreamWorker.java", "readers"]
    command = ["java", *NOWHERE, *program, changes.table.latest_stream_arn]
    surroundings = environment | {"AWS_ENDPOINT_URL": server.endpoint_url}
    workers = []

    def start():
        workers.append(Worker(command, home, surroundings, tmp_path / "log"))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()


class Changes:
    """A table with a stream, and what was done to it: by key, as a worker should tell it."""

    def __init__(self, server):
        self.told = defaultdict(list)
        self.clock = server.clock
        self.table = server.resource().create_table(
            TableName="changes",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )

    def make(self):
        """Insert, change and remove an item of each key; return how many records that makes."""
        for key in KEYS:
            self.table.put_item(Item={"id": key, "version": 1})
            self.told[key].append("INSERT - 1")
        for key in KEYS:
            self.table.update_item(
                Key={"id": key},
                UpdateExpression="ADD version :one",
                ExpressionAttributeValues={":one": 1},
            )
            self.told[key].append("MODIFY 1 2")
        for key in KEYS:
            self.table.delete_item(Key={"id": key})
            self.told[key].append("REMOVE 2 -")
        return 3 * len(KEYS)


class Worker:
    """A Java process and what it told so far."""

    def __init__(self, command, home, environment, log):
        self.told = defaultdict(list)
        self.shards = set()  # in which there were records
        self.log = log
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=home,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.limit = threading.Timer(WORKER_SECONDS_MAX, self.process.kill)
        self.limit.start()

    def read(self, count):
        """Wait for so many records."""
        assert self.process.stdout is not None
        while count > 0:
            what, shard, *change = self.process.stdout.readline().split() or ["died", ""]
            assert what != "died", self.log.read_text()
            if what == "record":
                name, key, old, new = change
                self.told[key].append(f"{name} {old} {new}")
                self.shards.add(shard)
                count -= 1

    def stop(self):
        """Let it hand back its leases; nothing more may come."""
        rest, _ = self.process.communicate()
        assert self.process.returncode == 0, self.log.read_text()
        assert "record" not in rest

    def kill(self):
        self.limit.cancel()
        self.process.kill()
        self.process.communicate()


@pytest.mark.java
def test_a_worker_follows_the_shards_and_goes_on_where_it_stopped(changes, start_worker):
    worker = start_worker()
    worker.read(changes.make())
    changes.clock.advance(SHARD_SECONDS)
    worker.read(changes.make())
    assert worker.told == changes.told
    assert len(worker.shards) == 2
    worker.stop()

    changes.told.clear()
    count = changes.make()
    changes.clock.advance(SHARD_SECONDS)
    count += changes.make()
    worker = start_worker()
    worker.read(count)
    assert worker.told == changes.told
    assert len(worker.shards) == 2
