"""What works where POSIX's modules are missing: tests in one process, and servers in memory."""

import subprocess
import sys

_HIDE = "import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
_MISSING = ("fcntl", "termios", "pwd", "grp", "readline")

_PROGRAMS = {
    "a database in this process": """
from hashrange.testing import local
with local() as db:
    assert db.client().list_tables()["TableNames"] == []
""",
    "a server in memory": """
from hashrange.testing import serve
with serve() as server:
    assert server.client().list_tables()["TableNames"] == []
""",
    "the command": """
import threading, urllib.request, os, signal
from hashrange.config import Settings
from hashrange.supervisor import serve
def ready(host, port):
    def look():
        urllib.request.urlopen(f"http://{host}:{port}/healthz").read()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=look).start()
serve(Settings(in_memory=True, port=0, workers=1), ready, lambda: print("stopping"))
""",
    "data on disk is refused with the reason": """
from hashrange.app.engines import StartError
from hashrange.config import Settings
from hashrange.supervisor import serve
try:
    serve(Settings(port=0, workers=1), None, None)
except StartError as error:
    assert "--in-memory" in str(error)
else:
    raise AssertionError
""",
}


def test_everything_in_memory_works_without_posix():
    hide = _HIDE.format(modules=_MISSING)
    for name, program in _PROGRAMS.items():
        result = subprocess.run(
            [sys.executable, "-c", hide + program], capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0, f"{name}: {result.stderr}"
