"""What a server says when it is ready, when it stops, and when it has stopped."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Final, final

from hashrange import __version__
from hashrange.config import Settings

_LOGGER: Final = logging.getLogger("hashrange")

_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@final
class Voice:
    """Prints what happens to a server, or logs it when messages are for machines."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_for_machines = settings.log_format == "json"

    def ready(self, host: str, port: int) -> None:
        """Say where the server is and how to connect."""
        if self._is_for_machines:
            _LOGGER.info("listening on %s", endpoint(host, port, self._settings.scheme))
        else:
            sys.stdout.write(greeting(self._settings, host, port))
            sys.stdout.flush()

    def stopping(self) -> None:
        """Say that the server was told to stop, and how long that may take."""
        seconds = self._settings.stop_timeout
        # A terminal shows ^C where the cursor was.
        start = "\n" if sys.stdout.isatty() else ""
        self._say(
            f"{start}stopping: requests that are under way have {seconds:g} seconds to finish; "
            "Ctrl-C stops at once"
        )

    def stopped(self) -> None:
        """Say that everything is closed."""
        self._say("stopped")

    def _say(self, text: str) -> None:
        if self._is_for_machines:
            _LOGGER.info("%s", text.strip())
            return
        # The reader of a pipe may be gone, which must not keep the server from stopping.
        with contextlib.suppress(OSError):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


def endpoint(host: str, port: int, scheme: str = "http") -> str:
    """Return the URL that clients on this machine use."""
    host = _ANY_ADDRESS.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _path_line() -> str:
    """Return a line that lets a shell find the command, if it does not yet."""
    program = Path(sys.argv[0])
    if program.name != "hashrange" or shutil.which("hashrange") is not None:
        return ""
    return f"\n  export PATH={program.parent.absolute()}{os.pathsep}$PATH"


def greeting(settings: Settings, host: str, port: int) -> str:
    """Return the text for people."""
    url = endpoint(host, port, settings.scheme)
    if settings.in_memory:
        data = "in memory, gone when the server stops"
    elif settings.is_clustered:
        data = f"keyspace {settings.keyspace} of Cassandra at {', '.join(settings.contact_points)}"
    else:
        data = str(settings.data_dir.absolute())
    if settings.auth:
        keys = "# and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: those of a user (see: aws iam)"
    elif settings.credentials is None:
        keys = "export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local"
    else:
        keys = f"# and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: a pair of {settings.credentials}"
    if settings.tls_cert is not None:
        keys += (
            "\n  # and, unless the system trusts the certificate already:"
            f"\n  export AWS_CA_BUNDLE={settings.tls_cert.absolute()}"
        )
    return f"""\
Hashrange {__version__} is ready on {url}
Data: {data}

Paste this into another terminal; the AWS CLI and all current AWS SDKs follow it:
  export AWS_ENDPOINT_URL={url}
  export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
  {keys}{_path_line()}
Then, for example:
  hashrange create Music Artist Song
  aws dynamodb list-tables
  python -c 'import boto3; print(boto3.client("dynamodb").list_tables())'

Press Ctrl-C to stop.
"""
