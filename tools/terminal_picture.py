"""Draws docs/images/session.svg: commands and their real output on a server that is started for it.

python tools/terminal_picture.py        (needs rich and the AWS CLI in this environment)
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from rich.console import Console
from rich.text import Text

_BIN = Path(sys.executable).parent
_PICTURE = Path(__file__).parents[1] / "docs" / "images" / "session.svg"
_COMMANDS = (
    "hashrange create Music Artist Song",
    'hashrange put Music \'{"Artist": "Nina Simone", "Song": "Feeling Good", "Year": 1965}\'',
    'hashrange put Music \'{"Artist": "Nina Simone", "Song": "Sinnerman", "Year": 1965}\'',
    "hashrange query Music 'Nina Simone' 'F*'",
    'hashrange sql "SELECT Song, \\"Year\\" FROM Music WHERE Artist = \'Nina Simone\'"',
    "aws dynamodb update-item --table-name Music \\\n"
    '    --key \'{"Artist": {"S": "Nina Simone"}, "Song": {"S": "Sinnerman"}}\' \\\n'
    "    --update-expression 'ADD Plays :n' \\\n"
    '    --expression-attribute-values \'{":n": {"N": "1"}}\' \\\n'
    "    --return-values UPDATED_NEW --query Attributes --output text",
    "hashrange tables",
)


def main() -> None:
    """Start a server, run the commands, draw what they print."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {
        "PATH": f"{_BIN}:{os.environ['PATH']}",
        "AWS_ENDPOINT_URL": url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    console = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    with tempfile.TemporaryDirectory() as directory:
        command = [str(_BIN / "hashrange"), "serve", "--port", str(port), "--data-dir", directory]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            _wait_for(url)
            for line in _COMMANDS:
                console.print(Text("$ ", style="bold green") + Text(line, style="bold"))
                done = subprocess.run(
                    ["bash", "-c", line],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                console.print(Text(done.stdout + done.stderr, end=""))
        finally:
            server.terminate()
            server.wait()
    _PICTURE.parent.mkdir(exist_ok=True)
    _PICTURE.write_text(console.export_svg(title="hashrange", unique_id="session"))


def _wait_for(url: str) -> None:
    for _ in range(500):
        try:
            urllib.request.urlopen(f"{url}/readyz").read()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    main()
