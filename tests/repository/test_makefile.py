"""The Makefile: who serves gets no tools of developers, and an old Python is refused at once."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")

# Runs what it is given as if it were another version of Python, and notes what that was.
OTHER_PYTHON = """#!/bin/sh
echo "$1" >> "{calls}"
[ "$1" = -c ] || exit 3
exec "{python}" -c "import sys; sys.version_info = {version}; $2"
"""


def make(*arguments):
    # Without the flags of a make that runs these tests.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    return subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def python_of(tmp_path):
    """Make a command that is a Python of some version; its calls are in the file `calls`."""

    def create(version):
        path = tmp_path / "python-other"
        calls = tmp_path / "calls"
        path.write_text(
            OTHER_PYTHON.format(calls=calls, python=sys.executable, version=(*version, 0))
        )
        path.chmod(0o755)
        return path

    return create


@pytest.mark.parametrize("verb", ["serve", "lint", "serve-compiled"])
def test_an_old_python_is_refused_before_anything_is_installed(python_of, tmp_path, verb):
    venv = tmp_path / "venv"
    places = [f"{name}={venv}" for name in ("VENV", "SERVE", "COMPILED")]
    done = make(verb, f"PYTHON={python_of((3, 9))}", *places)
    assert done.returncode != 0
    assert re.search(r"Hashrange needs Python 3\.11 or newer, and \S+ is 3\.9\.", done.stderr)
    assert (tmp_path / "calls").read_text() == "-c\n"
    assert not venv.exists()


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 14)])
def test_newer_pythons_are_welcome(python_of, version):
    done = make("supported-python", f"PYTHON={python_of(version)}")
    assert (done.returncode, done.stderr) == (0, "")


def test_serving_needs_no_tools_of_developers(tmp_path):
    done = make("--dry-run", "serve", f"SERVE={tmp_path / 'venv'}", f"PYTHON={sys.executable}")
    assert done.returncode == 0, done.stderr
    (install,) = re.findall(r"pip install .*", done.stdout)
    assert install.endswith("--editable .")
    assert "[dev]" not in done.stdout
    assert done.stdout.rstrip().endswith("venv/bin/hashrange serve")
    assert re.findall(r'echo "(\d)/3 ', done.stdout) == ["1", "2", "3"]
