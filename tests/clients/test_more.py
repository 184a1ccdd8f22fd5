"""A small program with each of many other clients; `make clients-more` installs and runs them.

A program of `more` says itself what it needs: in Python by inline script metadata, elsewhere by its
first line. Each gets an environment of its own. A client that cannot be installed is a failure,
unless `NOT_INSTALLED` gives the reason. docs/reference/clients.md lists all programs.
"""

import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

pytestmark = pytest.mark.more

PROGRAMS = pathlib.Path(__file__).with_name("more")
# By the name of the program: why it may be left out where its packages cannot be had.
NOT_INSTALLED: Mapping[str, str] = {}

# The file of a folder that says what was installed there.
INSTALLED = "installed"
PROGRAM_SECONDS_MAX = 120
INSTALL_SECONDS_MAX = 600

Run = Callable[..., None]


def names(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(PROGRAMS)) for path in PROGRAMS.glob(pattern))


def needs(program: pathlib.Path) -> list[str]:
    """Return the packages that the first line of a program in Node or Go names."""
    first = program.read_text().partition("\n")[0]
    assert first.startswith(("// packages: ", "// modules: ")), first
    return first.split()[2:]


def has(home: pathlib.Path, packages: list[str]) -> bool:
    """Tell whether just these packages were installed in a folder before."""
    installed = home / INSTALLED
    return installed.exists() and installed.read_text().split() == packages


def install(program: str, *command: str | pathlib.Path, cwd: pathlib.Path | None = None) -> None:
    """Run a command that fetches what a program needs, or say that it cannot be had here."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX
    )
    if done.returncode == 0:
        return
    if program in NOT_INSTALLED:
        pytest.skip(f"{program} CANNOT BE INSTALLED: {NOT_INSTALLED[program]}")
    pytest.fail(f"{program} CANNOT BE INSTALLED here:\n{done.stderr}", pytrace=False)


@pytest.fixture
def run(environment) -> Run:
    """Run an installed program with the server's address in its environment."""

    def execute(*command: str | pathlib.Path, cwd: pathlib.Path | None = None) -> None:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PROGRAM_SECONDS_MAX,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return execute


@pytest.mark.parametrize("name", names("*.py"))
def test_a_program_in_python(name, run):
    script = ["--quiet", "--python", sys.executable, "--script", str(PROGRAMS / name)]
    install(name, "uv", "sync", *script)
    run("uv", "run", "--no-sync", *script)


@pytest.mark.parametrize("name", names("*.mjs"))
def test_a_program_in_node(name, tool_directory, run):
    packages = needs(PROGRAMS / name)
    home = tool_directory(f"more-{pathlib.Path(name).stem}")
    if not has(home, packages):
        (home / "package.json").write_text('{"private": true}')
        flags = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
        install(name, "npm", "install", *flags, *packages, cwd=home)
        (home / INSTALLED).write_text(" ".join(packages))
    # Node looks for packages beside the script, so the script goes beside the packages.
    shutil.copy(PROGRAMS / name, home)
    run("node", "--no-warnings", home / name)


@pytest.mark.parametrize("name", names("*/main.go"))
def test_a_program_in_go(name, tool_directory, run):
    home = tool_directory(f"more-{pathlib.Path(name).parent.name}")
    shutil.copy(PROGRAMS / name, home)
    modules = needs(PROGRAMS / name)
    if not has(home, modules):
        (home / "go.mod").write_text("module program\n\ngo 1.22\n")
        install(name, "go", "get", *modules, cwd=home)
        install(name, "go", "mod", "tidy", cwd=home)
        (home / INSTALLED).write_text(" ".join(modules))
    install(name, "go", "build", "-o", "program", ".", cwd=home)
    run(home / "program")
