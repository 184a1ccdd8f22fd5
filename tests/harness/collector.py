"""A stand-in of an OpenTelemetry collector: keeps the paths and bodies that it is sent."""

import contextlib
import http.server
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Run a collector; yields its address, and what it got."""
    got: list[tuple[str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", got
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
