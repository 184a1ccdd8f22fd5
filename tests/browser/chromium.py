"""A web page in a headless Chromium: where it is served, under which name, and what it reports."""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

PAGE = Path(__file__).with_name("attempts.html")
SECONDS_MAX = 120.0

Report = dict[str, str | None]
"""What each attempt of the page could read; None if the browser or the server kept it from it."""


def find_chromium() -> str:
    """Return the command of the browser."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise FileNotFoundError("there is no Chromium; on Debian: apt install chromium")


class Site(http.server.ThreadingHTTPServer):
    """The server of the page, which takes its report, too."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self.reports: queue.Queue[Report] = queue.Queue()
        self.port: int = self.server_address[1]

    def next_report(self) -> Report:
        """Wait for what a page has to say."""
        return self.reports.get(timeout=SECONDS_MAX)


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers the page, which a browser may keep for an hour, and takes reports."""

    server: Site

    def do_GET(self) -> None:
        if not self.path.startswith("/?database="):
            self.send_error(404)
            return
        page = PAGE.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        if self.path == "/report":
            self.server.reports.put(json.loads(body))

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def site(host: str = "127.0.0.1", port: int = 0) -> Iterator[Site]:
    """Serve the page."""
    with Site((host, port)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def page_address(origin: str, database: str, report_to: str) -> str:
    """Return the address of the page that attacks a database."""
    return f"{origin}/?{urlencode({'database': database, 'report': report_to})}"


@contextlib.contextmanager
def visiting(address: str, profile: Path, rules: Sequence[str]) -> Iterator[None]:
    """Have a browser open a page; `rules` say where names of hosts lead."""
    command = [
        find_chromium(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        f"--user-data-dir={profile}",
        f"--host-resolver-rules={', '.join(rules)}",
        "--remote-debugging-port=0",  # keeps the browser open until it is ended
        address,
    ]
    browser = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        browser.terminate()
        browser.wait(SECONDS_MAX)
