"""Builds the wheel, installs it in empty environments and uses it: `make wheel`.

Every Python from 3.11 on that is found gets an environment; the others are named as missing.
Nothing of the checkout is on the path of the programs that run: they start in a temporary directory
with none of the variables that tell Python where to look.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# Of files that an installation adds to an empty environment.
MEGABYTES_MAX = 80
PYTEST_FILE = """
def test_a_table(dynamodb):
    table = dynamodb.resource().create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}],
    )
    table.put_item(Item={"Artist": "Nina Simone"})
    assert table.scan()["Count"] == 1
"""


# Makes the table that the commands for people then use.
TABLE = """
import sys
import botocore.session
client = botocore.session.Session().create_client("dynamodb", endpoint_url=sys.argv[1],
    region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local")
client.create_table(TableName="Music", BillingMode="PAY_PER_REQUEST",
    AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}])
"""


class Environment:
    """A new virtual environment in a directory of its own."""

    def __init__(self, directory: Path, python: str) -> None:
        directory.mkdir()
        self.directory = directory
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "AWS_", "HASHRANGE_", "VIRTUAL_ENV"))
        }
        subprocess.run([python, "-m", "venv", str(directory / "venv")], check=True)

    def path_of(self, program: str) -> str:
        return str(self.directory / "venv" / "bin" / program)

    def install(self, *requirements: str) -> None:
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        self.run("python", *pip, *requirements)

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment and return what it printed; it has to succeed."""
        done = subprocess.run(
            [self.path_of(program), *arguments],
            cwd=self.directory,
            env=self.variables,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=600,
        )
        return done.stdout

    def megabytes(self) -> float:
        files = (path for path in (self.directory / "venv").rglob("*") if path.is_file())
        return sum(path.lstat().st_size for path in files if not path.is_symlink()) / 1e6


def build(directory: Path) -> Path:
    """Build the wheel of the checkout and return its path."""
    command = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([sys.executable, *command, "--wheel-dir", str(directory), str(ROOT)], check=True)
    (wheel,) = directory.glob("hashrange-*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Check files and metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(path).decode())
    sources = {
        str(file.relative_to(ROOT / "src")) for file in (ROOT / "src/hashrange").rglob("*.py")
    }
    packed = {name for name in names if ".dist-info/" not in name}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    beside = settings["tool"]["setuptools"]["package-data"]["hashrange"]
    assert packed == sources | {f"hashrange/{name}" for name in beside}, packed ^ sources
    assert any(name.endswith("/LICENSE") for name in names)
    project = settings["project"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Summary"] == project["description"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("Classifier") == project["classifiers"]
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])


def check_server(environment: Environment, version: str) -> None:
    """Start the installed server, ask it whether it is ready, and stop it."""
    assert environment.run("hashrange", "--version") == f"hashrange {version}\n"
    assert "no problems found" in environment.run("hashrange", "doctor", "--port", "0")
    command = [environment.path_of("hashrange"), "serve", "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=environment.directory,
        env=environment.variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        url = found.group()
        with urllib.request.urlopen(f"{url}/readyz", timeout=10) as response:
            assert response.status == 200
        check_commands(environment, url)
    finally:
        process.terminate()
        output = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert output.endswith("stopped\n")


def check_commands(environment: Environment, url: str) -> None:
    """Put and read an item with the installed commands."""
    environment.run("python", "-c", TABLE, url)
    there = ["--endpoint-url", url, "--region", "us-east-1"]
    environment.run("hashrange", "put", "Music", '{"Artist": "Nina Simone", "Born": 1933}', *there)
    found = environment.run("hashrange", "get", "Music", "Nina Simone", "--output", "json", *there)
    assert json.loads(found) == [{"Artist": "Nina Simone", "Born": 1933}]
    assert "Music" in environment.run("hashrange", "tables", *there)


def check_plugin(environment: Environment) -> None:
    """Run a test that uses the installed plugin."""
    (environment.directory / "test_music.py").write_text(PYTEST_FILE)
    assert "1 passed" in environment.run("pytest", "-q", "test_music.py")


def check_python(python: str, directory: Path, wheel: Path) -> None:
    """Install the wheel for one Python and use it."""
    version = wheel.name.split("-")[1]
    environment = Environment(directory, python)
    before = environment.megabytes()
    environment.install(str(wheel))
    megabytes = environment.megabytes() - before
    check_server(environment, version)
    assert megabytes < MEGABYTES_MAX, f"an installation has grown to {megabytes:.0f} MB"
    environment.install(f"{wheel}[test]")
    check_plugin(environment)
    say(f"  installed, it has {megabytes:.0f} MB; server, commands and pytest plugin work")


def candidates(version: str) -> Iterator[str]:
    """Yield places where a Python of this version may be."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        yield sys.executable
    if found := shutil.which(f"python{version}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, (pyenv / "versions").glob(f"{version}.*/bin/python"))
    by_uv = subprocess.run(
        [Path(sys.executable).with_name("uv"), "python", "find", "--no-python-downloads", version],
        capture_output=True,
        text=True,
    )
    if by_uv.returncode == 0:
        yield by_uv.stdout.strip()


def find_python(version: str) -> str | None:
    """Return a Python of this version that runs; a shim of pyenv may be there and not run."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    for place in candidates(version):
        done = subprocess.run([place, "-c", program], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return place
    return None


def main() -> None:
    """Build, install and check."""
    parser = argparse.ArgumentParser(prog="python -m tests.wheel", description=__doc__)
    parser.add_argument("versions", nargs="*", default=VERSIONS, help="such as 3.12")
    versions = parser.parse_args().versions
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        wheel = build(directory)
        check_contents(wheel)
        say(f"{wheel.name}: files and metadata are complete")
        checked = 0
        for version in versions:
            python = find_python(version)
            if python is None:
                say(f"Python {version}: NOT FOUND here, not checked")
                continue
            say(f"Python {version}: {python}")
            check_python(python, directory / version, wheel)
            checked += 1
    assert checked, "there is no Python to check with"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
