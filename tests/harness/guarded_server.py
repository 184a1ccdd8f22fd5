"""A server process with authentication, and clients of its users."""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.harness.server import START_SECONDS_MAX, STOP_SECONDS_MAX, answers, free_port

REGION = "us-east-1"


class GuardedServer:
    """The URL of a server and the keys of its administrator."""

    def __init__(self, url: str, keys: tuple[str, str] | None, output: str) -> None:
        self.url = url
        self.keys = keys
        self.output = output

    def client(self, service: str, keys: Any = None, region: str = REGION) -> Any:
        """Return a boto3 client; keys are an id and a secret, or the Credentials of STS."""
        keys = keys or self.keys
        token = None
        if isinstance(keys, dict):
            token = keys.get("SessionToken")
            keys = (keys["AccessKeyId"], keys["SecretAccessKey"])
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=region,
            aws_access_key_id=keys[0],
            aws_secret_access_key=keys[1],
            aws_session_token=token,
            config=Config(retries={"total_max_attempts": 1}),
        )


@contextlib.contextmanager
def guarded_server(directory: Path, *flags: str) -> Iterator[GuardedServer]:
    """Run a server with its data in a directory; `--auth` unless flags say otherwise."""
    port = free_port()
    given = flags or ("--auth",)
    command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port)]
    command += ["--data-dir", str(directory / "data"), *given]
    log_path = directory / f"log-{port}"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            deadline = time.monotonic() + START_SECONDS_MAX
            while not (answers(port) and "is ready" in log_path.read_text()):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"server did not start\n{log_path.read_text()}")
                time.sleep(0.02)
            text = log_path.read_text()
            found = re.search(r"AWS_ACCESS_KEY_ID=(\S+)\s+AWS_SECRET_ACCESS_KEY=(\S+)\n", text)
            keys = None
            if found is not None and found.group(1).startswith("AKIA"):
                keys = (found.group(1), found.group(2))
            yield GuardedServer(f"http://127.0.0.1:{port}", keys, text)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
