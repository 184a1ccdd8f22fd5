"""Builds the wheel, installs it in empty environments and uses it: `make wheel`.

Nothing of the checkout is on the path of the programs that run: they start in a temporary
directory with none of the variables that tell Python where to look.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Of files, with pip, and setuptools where it comes with every environment.
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


class Environment:
    """A new virtual environment in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "AWS_", "HASHRANGE_", "VIRTUAL_ENV"))
        }
        venv.create(directory / "venv", with_pip=True)

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
    assert packed == sources | {"hashrange/py.typed"}, packed ^ sources
    assert any(name.endswith("/LICENSE") for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
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
    finally:
        process.terminate()
        output = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert output.endswith("stopped\n")


def check_plugin(environment: Environment) -> None:
    """Run a test that uses the installed plugin."""
    (environment.directory / "test_music.py").write_text(PYTEST_FILE)
    assert "1 passed" in environment.run("pytest", "-q", "test_music.py")


def main() -> None:
    """Build, install and check."""
    argparse.ArgumentParser(prog="python -m tests.wheel", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        wheel = build(directory)
        version = wheel.name.split("-")[1]
        check_contents(wheel)
        say(f"{wheel.name}: files and metadata are complete")
        environment = Environment(directory)
        environment.install(str(wheel))
        megabytes = environment.megabytes()
        check_server(environment, version)
        say(f"installed alone, it serves; the environment has {megabytes:.0f} MB")
        assert megabytes < MEGABYTES_MAX, "the environment has grown"
        environment.install(f"{wheel}[test]")
        check_plugin(environment)
        say("installed with [test], its pytest plugin works")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
