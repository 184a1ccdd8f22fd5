"""A session with the AWS SDK for JavaScript v3; `make clients` runs it, since it needs npm."""

import pathlib
import shutil
import subprocess

import pytest

PACKAGES = ("@aws-sdk/client-dynamodb@3", "@aws-sdk/lib-dynamodb@3")
SCRIPT = pathlib.Path(__file__).with_name("document_client.mjs")


@pytest.fixture(scope="session")
def node_project(tool_directory) -> pathlib.Path:
    """A directory in the user's cache in which the SDK is installed."""
    home = tool_directory("javascript-sdk-3")
    if not (home / "complete").exists():
        (home / "package.json").write_text('{"private": true}')
        flags = ["--no-audit", "--no-fund", "--no-package-lock", "--silent"]
        subprocess.run(["npm", "install", *flags, *PACKAGES], cwd=home, check=True)
        (home / "complete").touch()
    return home


@pytest.mark.npm
def test_document_client_session(node_project, environment):
    # Node looks for packages beside the script, so the script goes beside the packages.
    script = shutil.copy(SCRIPT, node_project)
    done = subprocess.run(
        ["node", "--no-warnings", script], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
