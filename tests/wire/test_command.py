"""The `hashrange serve` command as a process: greetings, complaints, workers and signals."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from hashrange import __version__
from tests.wire.conftest import AUTHORIZATION, eventually

STOP_MESSAGES = (
    "stopping: requests that are under way have 20 seconds to finish; Ctrl-C stops at once\n"
    "stopped\n"
)


class Process:
    """A running command."""

    def __init__(self, *flags, **environment):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hashrange", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )

    def url(self):
        """Read the greeting and return where the server is."""
        self.greeting = ""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        while "Press Ctrl-C" not in self.greeting:
            line = self.process.stdout.readline()
            assert line, self.greeting + self.process.stderr.read()
            self.greeting += line
        return re.findall(r"http://\S+", self.greeting)[0]

    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path) as file:
            return [int(pid) for pid in file.read().split()]

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.end()

    def end(self):
        output, errors = self.process.communicate(timeout=20)
        return self.process.returncode, output, errors


@pytest.fixture
def run():
    started = []

    def start(*flags, **environment):
        started.append(Process(*flags, **environment))
        return started[-1]

    yield start
    for command in started:
        if command.process.poll() is None:
            command.process.kill()
        command.process.communicate()


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


def test_the_version_is_printed(run):
    assert run("--version").end() == (0, f"hashrange {__version__}\n", "")


def test_a_server_greets_serves_and_stops_cleanly(run):
    server = run("serve", "--in-memory", "--port", "0")
    url = server.url()
    assert answers(url)
    assert f"export AWS_ENDPOINT_URL={url}\n" in server.greeting
    assert server.stop() == (0, STOP_MESSAGES, "")


def test_a_server_names_itself_as_the_endpoint(run):
    url = run("serve", "--in-memory", "--port", "0").url()
    headers = {
        "Authorization": AUTHORIZATION,
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20260101T000000Z",
        "X-Amz-Target": "DynamoDB_20120810.DescribeEndpoints",
    }
    request = urllib.request.Request(url, b"{}", headers)
    with urllib.request.urlopen(request, timeout=5) as response:
        (endpoint,) = json.load(response)["Endpoints"]
    assert f"http://{endpoint['Address']}" == url


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_stops_it_as_well(run, tmp_path, workers):
    flags = ["--port", "0", "--workers", workers, "--data-dir", str(tmp_path / "data")]
    server = run("serve", *flags)
    server.url()
    assert server.stop(signal.SIGINT) == (0, STOP_MESSAGES, "")


def test_logs_can_be_json(run):
    flags = ["--in-memory", "--port", "0", "--log-format", "json", "--log-level", "info"]
    server = run("serve", *flags)
    line = json.loads(server.process.stderr.readline())
    assert line["level"] == "info"
    assert line["message"].startswith("listening on http://127.0.0.1:")
    status, output, errors = server.stop()
    assert (status, output) == (0, "")
    messages = [json.loads(line)["message"] for line in errors.splitlines()]
    assert [message.split(":")[0] for message in messages] == ["stopping", "stopped"]


def test_settings_come_from_the_environment(run):
    server = run("serve", HASHRANGE_IN_MEMORY="true", HASHRANGE_PORT="0")
    server.url()
    assert server.stop()[0] == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_busy_port_is_named(run, tmp_path, workers):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        flags = ["--port", port, "--workers", workers, "--data-dir", str(tmp_path / "data")]
        status, output, errors = run("serve", *flags).end()
    assert (status, output) == (1, "")
    assert errors == (
        f"hashrange: Port {port} on 127.0.0.1 is in use by another program; "
        "choose one with --port.\n"
    )
    assert not (tmp_path / "data").exists()


def test_a_data_directory_serves_one_server_at_a_time(run, tmp_path):
    flags = ["serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
    first = run(*flags)
    first.url()
    status, _, errors = run(*flags).end()
    assert status == 1
    assert errors.startswith("hashrange: ")
    assert "in use by another Hashrange server" in errors
    assert errors.count("\n") == 1
    assert first.stop()[0] == 0
    again = run(*flags)
    again.url()
    assert again.stop()[0] == 0


def test_a_foreign_directory_is_left_alone(run, tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    status, _, errors = run("serve", "--port", "0", "--data-dir", str(tmp_path)).end()
    assert status == 1
    assert "is not a Hashrange data directory" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_wrong_settings_are_a_wrong_call(run):
    status, _, errors = run("serve", "--host", "0.0.0.0").end()
    assert status == 2
    assert errors.startswith("hashrange: Host 0.0.0.0 can be reached from other machines")
    assert run("serve", "--no-such-flag").end()[0] == 2
    assert run().end()[0] == 2


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_wrong_credentials_file_is_named(run, tmp_path, workers):
    keys = tmp_path / "keys.toml"
    keys.write_text("[AKID]\n")
    flags = ["--port", "0", "--credentials", str(keys), "--workers", workers]
    status, _, errors = run("serve", *flags, "--data-dir", str(tmp_path / "data")).end()
    assert status == 1
    assert errors == f"hashrange: {keys}: [AKID] lacks its secret.\n"


def test_a_dead_worker_is_started_again(run, tmp_path):
    flags = ["--port", "0", "--workers", "2", "--data-dir", str(tmp_path / "data")]
    server = run("serve", *flags)
    url = server.url()
    before = server.children()
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    eventually(lambda: len(server.children()) == 2 and server.children() != before)
    eventually(lambda: all(answers(url) for _ in range(10)))
    status, _, errors = server.stop()
    assert status == 0
    assert "worker 0 ended (signal 9)" in errors


def test_workers_end_with_their_parent(run, tmp_path):
    flags = ["--port", "0", "--workers", "2", "--data-dir", str(tmp_path / "data")]
    server = run("serve", *flags)
    url = server.url()
    server.process.kill()
    server.end()
    eventually(lambda: not answers(url))
