"""`hashrange top`: what a server does, in a terminal, refreshed every second."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

from hashrange.cli.data.connection import endpoint_of


def add_command(commands: Any) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "top",
        help="watch the requests of a server",
        description="Watch requests, latency and units of a server by table, until Control-C.",
    )
    parser.add_argument(
        "--endpoint",
        "--endpoint-url",
        metavar="URL",
        help="server to look at (default: AWS_ENDPOINT_URL, else the one on this machine)",
    )
    parser.add_argument(
        "--interval", type=float, default=1.0, metavar="SECONDS", help="time between two looks"
    )
    parser.add_argument(
        "--once", action="store_true", help="print the totals since the beginning, and end"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show what a server does."""
    try:
        from rich.console import Console
        from rich.live import Live

        from hashrange.cli.top_view import TopError, fetch, show
    except ImportError:
        sys.stderr.write("hashrange: top needs rich: pip install rich\n")
        return 1
    try:
        url = endpoint_of(arguments.endpoint, os.environ)
        before, then = fetch(url), time.monotonic()
        if arguments.once:
            Console().print(show(before, {}, 1.0))
            return 0
        with Live(show({}, {}, 1.0), auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(arguments.interval)
                now, totals = time.monotonic(), fetch(url)
                live.update(show(totals, before, now - then), refresh=True)
                before, then = totals, now
    except TopError as error:
        sys.stderr.write(f"hashrange: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
