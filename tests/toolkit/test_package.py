"""The package loads its parts when they are used, and knows nothing of the server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hashrange.toolkit

ROOT = Path(hashrange.toolkit.__file__).parent
IMPORT_SECONDS_MAX = 0.15


def test_every_public_name_can_be_loaded():
    for name in dir(hashrange.toolkit):
        assert getattr(hashrange.toolkit, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = hashrange.toolkit.nonsense


def test_type_checkers_see_the_same_names_as_programs():
    text = (ROOT / "__init__.py").read_text()
    assert sorted(re.findall(r"\b(\w+) as \1\b", text)) == dir(hashrange.toolkit)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_toolkit_imports_neither_boto3_nor_the_server():
    code = (
        "import sys, hashrange.toolkit; from hashrange.toolkit import *;"
        "from hashrange.toolkit import Design, DesignBase, TableClient, StreamConsumer;"
        "print(*(m for m in sys.modules if m.split('.')[0] in ('boto3', 'botocore', 'yaml')"
        " or m.startswith('hashrange.') and not m.startswith('hashrange.toolkit')))"
    )
    assert run(code) == ""


def test_importing_the_toolkit_is_quick():
    code = (
        "import time; t = time.process_time(); import hashrange.toolkit;"
        "hashrange.toolkit.Design; print(time.process_time() - t)"
    )
    assert min(float(run(code)) for _ in range(5)) < IMPORT_SECONDS_MAX
