"""Whole servers with triggers: processes, settings, credentials, kills, and the command line."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import boto3
import pytest

from hashrange.cli.main import main
from tests.harness.server import answers, free_port
from tests.triggers.conftest import STREAM, eventually

KEY, SECRET = "AKIDEXAMPLE", "secret"
HANDLERS = r"""
import json, os, time

def write(event, context):
    lines = [json.dumps([r["dynamodb"]["Keys"]["id"]["S"], os.getpid()]) for r in event["Records"]]
    with open("seen.jsonl", "a") as file:
        file.write("".join(line + "\n" for line in lines))
    time.sleep(0.002)

def copy(event, context):
    import boto3
    table = boto3.resource("dynamodb").Table("copies")
    for record in event["Records"]:
        table.put_item(Item={"id": record["dynamodb"]["Keys"]["id"]["S"]})
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line against a server; return status, output and complaints."""
    monkeypatch.chdir(tmp_path)

    def run_against(server, *arguments):
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(["triggers", *arguments])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run_against


class Server:
    """A server process in a directory of its own, started and ended by a test."""

    def __init__(self, home, settings=""):
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self._clients = {}
        (home / "handlers.py").write_text(HANDLERS)
        (home / "keys.toml").write_text(f'[{KEY}]\nsecret = "{SECRET}"\n')
        head = f'port = {self.port}\ndata-dir = "data"\ncredentials = "keys.toml"\nworkers = 2\n'
        head += "allow-functions = true\n"
        (home / "hashrange.toml").write_text(head + textwrap.dedent(settings))

    def start(self):
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hashrange", "serve", "--config", "hashrange.toml"],
                cwd=self.home,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(lambda: answers(self.port))

    @property
    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {
            **kept,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "HASHRANGE_ENDPOINT": self.url,
        }

    def client(self, service="dynamodb"):
        if service not in self._clients:
            self._clients[service] = boto3.client(
                service,
                endpoint_url=self.url,
                region_name="us-east-1",
                aws_access_key_id=KEY,
                aws_secret_access_key=SECRET,
            )
        return self._clients[service]

    def create_table(self, name="orders", **options):
        self.client().create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            **options,
        )

    def seen(self):
        path = self.home / "seen.jsonl"
        if not path.exists():
            return []
        return [json.loads(line)[0] for line in path.read_text().splitlines()]

    def end(self, number=signal.SIGTERM):
        if self.process is not None:
            if number == signal.SIGKILL:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)
            self.process.wait(20)
            self.process = None


@pytest.fixture
def make_server(tmp_path):
    made = []

    def make(settings=""):
        server = Server(tmp_path, settings)
        made.append(server)
        server.start()
        return server

    yield make
    for server in made:
        server.end()


WRITER = """
    [functions.writer]
    python = "handlers:write"

    [[triggers]]
    table = "orders"
    function = "writer"
    batch-size = 5
"""


def test_killed_servers_deliver_everything_in_order_at_least_once(make_server):
    server = make_server(WRITER)
    server.create_table(StreamSpecification=STREAM)
    written = []
    for round_number in range(2):
        client = server.client()
        for number in range(40):
            name = f"{round_number}-{number:03}"
            client.put_item(TableName="orders", Item={"id": {"S": name}})
            written.append(name)
        # Killed with most of them on their way.
        server.end(signal.SIGKILL)
        server.start()
    # What was delivered before a kill may come again; this comes after all of it.
    written.append("end")
    server.client().put_item(TableName="orders", Item={"id": {"S": "end"}})
    eventually(lambda: "end" in server.seen())
    assert list(dict.fromkeys(server.seen())) == written
    server.end()
    again = len(server.seen())
    server.start()
    server.client().put_item(TableName="orders", Item={"id": {"S": "last"}})
    eventually(lambda: "last" in server.seen())
    # After a stop nothing is repeated.
    assert server.seen()[again:] == ["last"]


def test_a_function_reaches_the_server_with_its_own_sdk(make_server):
    server = make_server(
        """
        [functions.copier]
        python = "handlers:copy"

        [[triggers]]
        table = "orders"
        function = "copier"
        """
    )
    server.create_table(StreamSpecification=STREAM)
    server.create_table("copies")
    client = server.client()
    client.put_item(TableName="orders", Item={"id": {"S": "one"}})
    found = {"TableName": "copies", "Key": {"id": {"S": "one"}}}
    eventually(lambda: "Item" in client.get_item(**found))


def test_triggers_of_the_settings_are_changed_there_only(make_server, run):
    server = make_server(WRITER)
    server.create_table(StreamSpecification=STREAM)
    triggers = server.client("lambda")
    eventually(lambda: triggers.list_event_source_mappings()["EventSourceMappings"])
    (mapping,) = triggers.list_event_source_mappings()["EventSourceMappings"]
    with pytest.raises(triggers.exceptions.ResourceInUseException):
        triggers.delete_event_source_mapping(UUID=mapping["UUID"])
    status, _, complaint = run(server, "functions", "add", "writer", "--command", "true")
    assert status == 1
    assert "settings of the server" in complaint


def test_the_command_line_manages_functions_and_mappings(make_server, run):
    server = make_server()
    server.create_table()
    assert run(server, "functions", "add", "writer", "--python", "handlers:write") == (0, "", "")
    add = ("add", "--function", "writer", "--table", "orders")
    status, _, complaint = run(server, *add)
    assert status == 1
    assert complaint == "hashrange: Table orders has no stream; UpdateTable can give it one.\n"
    server.client().update_table(TableName="orders", StreamSpecification=STREAM)
    pattern = '{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "a"}]}}}}'
    status, printed, _ = run(server, *add, "--filter", pattern, "--retries", "3", "--bisect")
    assert status == 0
    uuid = printed.strip()
    for name in ("b1", "a1"):
        server.client().put_item(TableName="orders", Item={"id": {"S": name}})
    eventually(lambda: server.seen() == ["a1"])
    _, printed, _ = run(server, "list")
    assert printed.splitlines()[1].split()[:4] == [uuid, "writer", "orders", "Enabled"]
    described = json.loads(run(server, "show", uuid)[1])
    assert described["MaximumRetryAttempts"] == 3
    assert described["BisectBatchOnFunctionError"] is True
    changed = json.loads(run(server, "update", uuid, "--no-enabled", "--batch-size", "2")[1])
    assert (changed["State"], changed["BatchSize"]) == ("Disabling", 2)
    assert run(server, "remove", uuid) == (0, "", "")
    status, _, complaint = run(server, "show", uuid)
    assert (status, complaint) == (1, "hashrange: The resource you requested does not exist.\n")
    _, printed, _ = run(server, "functions", "list")
    assert printed.splitlines()[1].split() == ["writer", "python", "handlers:write"]
    assert json.loads(run(server, "functions", "show", "writer")[1])["Directory"] == str(
        server.home
    )
    assert run(server, "functions", "remove", "writer")[0] == 0


def test_the_command_line_says_when_nobody_answers(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["triggers", "list", "--endpoint", "http://127.0.0.1:1"])
    assert ended.value.code == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("hashrange: No server answers at http://127.0.0.1:1")


def test_a_stopped_server_leaves_no_process_behind(make_server):
    server = make_server(WRITER)
    server.create_table(StreamSpecification=STREAM)
    server.client().put_item(TableName="orders", Item={"id": {"S": "x"}})
    eventually(lambda: server.seen() == ["x"])
    (line,) = (server.home / "seen.jsonl").read_text().splitlines()
    pid = json.loads(line)[1]
    assert pathlib.Path(f"/proc/{pid}").exists()
    server.end()
    eventually(lambda: not pathlib.Path(f"/proc/{pid}").exists())


def test_a_server_without_the_switch_registers_no_functions(make_server, run, monkeypatch):
    monkeypatch.setenv("HASHRANGE_ALLOW_FUNCTIONS", "false")
    server = make_server()
    status, _, complaint = run(server, "functions", "add", "evil", "--command", "true")
    assert status == 1
    assert "--allow-functions" in complaint
    assert "evil" not in run(server, "functions", "list")[1]
