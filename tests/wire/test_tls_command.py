"""TLS as people use it: `hashrange certificate`, `serve --tls-cert`, and an SDK that trusts it."""

import contextlib
import re
import subprocess
import sys
import urllib.request

import boto3
import pytest
from botocore.config import Config

from hashrange.cli.certificate import CERTIFICATE_NAME, KEY_NAME
from hashrange.cli.http_calls import Endpoint
from tests.wire.test_command import Process


def hashrange(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "hashrange", *arguments], capture_output=True, text=True, timeout=30
    )


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    made = hashrange("certificate", "--output", str(directory), "--name", "db.example.com")
    assert made.returncode == 0, made.stderr
    assert "db.example.com" in made.stdout
    certificate, key = directory / CERTIFICATE_NAME, directory / KEY_NAME
    assert f"--tls-cert {certificate} --tls-key {key}" in made.stdout
    assert f"AWS_CA_BUNDLE={certificate}" in made.stdout
    assert key.stat().st_mode & 0o077 == 0
    return certificate, key


@contextlib.contextmanager
def serving(tmp_path, pair, *flags):
    data = ("--data-dir", str(tmp_path / "data"), "--workers", "2")
    tls = ("--tls-cert", str(pair[0]), "--tls-key", str(pair[1]))
    process = Process("serve", "--port", "0", *data, *tls, *flags)
    try:
        assert process.process.stdout is not None
        greeting = ""
        while "Press Ctrl-C" not in greeting:
            line = process.process.stdout.readline()
            assert line, greeting
            greeting += line
        yield re.findall(r"https://\S+", greeting)[0], greeting
    finally:
        assert process.stop()[0] == 0


def test_a_certificate_is_never_overwritten(pair):
    before = pair[0].read_bytes()
    again = hashrange("certificate", "--output", str(pair[0].parent))
    assert again.returncode == 1
    assert "nothing was changed" in again.stderr
    assert pair[0].read_bytes() == before


def test_boto3_uses_a_server_with_two_workers_and_the_command_line_too(tmp_path, pair):
    with serving(tmp_path, pair) as (url, greeting):
        assert f"AWS_CA_BUNDLE={pair[0]}" in greeting
        for _ in range(4):  # each client has connections of its own, so both workers get some
            client = boto3.client(
                "dynamodb",
                endpoint_url=url,
                region_name="us-east-1",
                aws_access_key_id="local",
                aws_secret_access_key="local",
                verify=str(pair[0]),
                config=Config(retries={"total_max_attempts": 1}),
            )
            assert client.list_tables()["TableNames"] == []
            client.close()
        endpoint = Endpoint(url, "us-east-1", {"AWS_CA_BUNDLE": str(pair[0])})
        assert endpoint.call("ListTables", {}) == {"TableNames": []}
        with pytest.raises(urllib.request.HTTPError, match="400"):
            urllib.request.urlopen(url.replace("https:", "http:"))


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (["--tls-cert", "a.crt"], 2, "belong together"),
        (["--tls-client-ca", "a.crt"], 2, "needs tls-cert"),
        (["--tls-cert", "missing.crt", "--tls-key", "missing.key"], 1, "missing.crt"),
    ],
)
def test_half_a_configuration_is_refused(flags, status, words):
    ended = hashrange("serve", "--in-memory", "--port", "0", *flags)
    assert ended.returncode == status
    assert words in ended.stderr
