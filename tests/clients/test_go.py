"""A session with the AWS SDK for Go v2; `make clients-go` runs it, since it needs Go."""

import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).parent / "go" / "session.go"
MODULE = "module session\n\ngo 1.22\n"


@pytest.mark.go
def test_a_session_with_expressions_pages_and_typed_errors(tool_directory, environment):
    home = tool_directory("go-sdk-2")
    shutil.copy(SOURCE, home)
    if not (home / "go.sum").exists():
        (home / "go.mod").write_text(MODULE)
        subprocess.run(["go", "mod", "tidy"], cwd=home, check=True)
    subprocess.run(["go", "build", "-o", "session", "."], cwd=home, check=True)
    done = subprocess.run([home / "session"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
