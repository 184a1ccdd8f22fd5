"""What works where POSIX's modules and functions are missing, as on Windows: all in memory."""

import subprocess
import sys

_HIDE = """
import asyncio, ctypes, logging, multiprocessing, os, pathlib, shutil, signal, socket, ssl, sys
import subprocess, tempfile, threading, urllib.request
import boto3, cryptography.hazmat.primitives.ciphers.aead  # which ask for the platform as well
sys.platform = "win32"
for name in ("fcntl", "termios", "pwd", "grp", "readline", "resource", "uvloop"):
    sys.modules[name] = None
for module, names in {
    os: ("fork", "register_at_fork", "sched_getaffinity", "sched_yield", "fdatasync", "getuid"),
    signal: ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "pthread_sigmask"),
    socket: ("SO_REUSEPORT", "TCP_QUICKACK"),
}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
def refuse(*_):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = refuse
"""

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
        signal.raise_signal(signal.SIGINT)
    threading.Thread(target=look).start()
serve(Settings(in_memory=True, port=0, workers=1), ready, lambda: print("stopping"))
""",
    "the doctor": """
from hashrange.cli.doctor import run
assert run({"in-memory": True, "port": 0}, {}) == 0
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
    for name, program in _PROGRAMS.items():
        result = subprocess.run(
            [sys.executable, "-c", _HIDE + program], capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0, f"{name}: {result.stderr}"
