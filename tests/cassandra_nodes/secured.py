"""`python -m tests.cassandra_nodes.secured` checks logging in to a node with TLS and passwords.

The node also has the commit log that is the default of Cassandra, which loses acknowledged writes
when the power fails: servers refuse it unless they are told to accept it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cassandra_nodes.certificates import write_certificates
from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import Node, all_nodes
from tests.cassandra_nodes.starting import say, start
from tests.harness.endpoint import Endpoint
from tests.harness.server import free_port, running

NODES = Nodes(1, "127.61.0.", commitlog_sync="periodic", secured=True)
_START_SECONDS_MAX = 120
_REFUSALS = {
    "without TLS": "If the nodes want TLS, give --cassandra-ca",
    "with the certificates of others": "certificate verify failed",
    "without a password": "requires authentication",
    "with a wrong password": "password are incorrect",
    "with a periodic commit log": "has commitlog_sync: periodic",
}
"""What a server says when it is started in a wrong way."""


def main() -> int:
    start(NODES)
    try:
        with TemporaryDirectory() as folder:
            return _check(Path(folder), Node(1).folder / "conf/ca.pem")
    finally:
        for node in all_nodes():
            node.stop()


def _check(folder: Path, authority: Path) -> int:
    write_certificates(folder)  # of an authority that the node does not know
    (folder / "right").write_text("cassandra\n")
    (folder / "wrong").write_text("guessed\n")
    tls = ["--cassandra-ca", str(authority)]
    others = ["--cassandra-ca", str(folder / "ca.pem")]
    login = ["--cassandra-user", "cassandra", "--cassandra-password-file"]
    right, wrong = ([*login, str(folder / name)] for name in ("right", "wrong"))
    periodic = ["--allow-periodic-commit-log"]
    attempts = {
        "without TLS": [*right, *periodic],
        "with the certificates of others": [*others, *right, *periodic],
        "without a password": [*tls, *periodic],
        "with a wrong password": [*tls, *wrong, *periodic],
        "with a periodic commit log": [*tls, *right],
    }
    problems = [
        problem for name, flags in attempts.items() if (problem := _expect_refusal(name, flags))
    ]
    _use([*tls, *right, *periodic])
    for problem in problems:
        say(problem)
    say(f"{len(attempts) - len(problems)} of {len(attempts)} refusals are right; logging in works")
    return 1 if problems else 0


def _command(flags: list[str], port: int) -> list[str]:
    command = [sys.executable, "-m", "hashrange", "serve", "--engine", "cassandra"]
    command += ["--contact-points", NODES.address(1), "--replication", "1", "--port", str(port)]
    return [*command, *flags]


def _expect_refusal(name: str, flags: list[str]) -> str:
    """Start a server that must end at once, with a text that says why; return what is wrong."""
    ended = subprocess.run(
        _command(flags, free_port()),
        check=False,
        capture_output=True,
        text=True,
        timeout=_START_SECONDS_MAX,
    )
    said = (ended.stdout + ended.stderr).strip()
    if ended.returncode and _REFUSALS[name] in said and "Traceback" not in said:
        return ""
    return f"{name}, a server ends with {ended.returncode} and says: {said}"


def _use(flags: list[str]) -> None:
    """Start a server that must work, and write and read an item."""
    port = free_port()
    with running(_command(flags, port), port) as url:
        endpoint = Endpoint(url)
        schema = {
            "TableName": "secured",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        }
        item = {"p": {"S": "a"}}
        for operation, request in (
            ("CreateTable", schema),
            ("PutItem", {"TableName": "secured", "Item": item}),
        ):
            reply = endpoint.call(operation, request)
            assert reply.status == 200, reply.message
        read = {"TableName": "secured", "Key": item, "ConsistentRead": True}
        assert endpoint.call("GetItem", read).body["Item"] == item
        endpoint.close()


if __name__ == "__main__":
    sys.exit(main())
