"""Run the toolkit's tests against other servers: DynamoDB Local and moto.

    python -m tests.toolkit [PYTEST ARGUMENTS]

Needs Java and Maven for DynamoDB Local, and moto's server in the folder of `make bench-peers`; a
server that is not there is left out with a word. Only tests that use the fixture `service` differ.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from bench.servers import PEERS
from tests.differential.local import dynamodb_local
from tests.harness.server import free_port, running

TESTS = [
    f"tests/toolkit/test_{name}.py"
    for name in (
        "client",
        "codecs",
        "declarations",
        "examples",
        "importers",
        "migrations",
        "patterns",
    )
]


@contextlib.contextmanager
def moto() -> Iterator[str]:
    """Run moto's server; yields its URL."""
    program = PEERS / "moto/bin/moto_server"
    if not program.exists():
        raise FileNotFoundError(f"{program} is not there: run make bench-peers")
    port = free_port()
    with running([str(program), "-H", "127.0.0.1", "-p", str(port)], port) as url:
        yield url


SERVERS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "DynamoDB Local": dynamodb_local,
    "moto": moto,
}


def main() -> None:
    failed = []
    for name, start in SERVERS.items():
        chosen = ["-m", "not beyond_moto"] if name == "moto" else []
        try:
            with start() as url:
                sys.stdout.write(f"{name} at {url}\n")
                sys.stdout.flush()
                done = subprocess.run(
                    [sys.executable, "-m", "pytest", *TESTS, *chosen, *sys.argv[1:]],
                    env={**os.environ, "HASHRANGE_TOOLKIT_URL": url},
                )
        except (FileNotFoundError, SystemExit) as error:
            sys.stdout.write(f"{name} is left out: {error}\n")
            continue
        if done.returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
