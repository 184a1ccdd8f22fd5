"""The README, the tutorial and the guides run as they stand, page by page.

Blocks of `sh` and `python` are run in the order of the page, in one shell, so that variables stay
set. A block of Python with tests is given to pytest. Blocks of `console` (another terminal,
another machine) and `py` (a fragment) are not run. The server that a page talks to is there.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.served import Served

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/tutorial.md",
    *sorted((ROOT / "docs/guides").glob("*.md")),
]
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

# What the server of a page is started with.
FLAGS = {
    "access": ("--auth",),
    "audit": ("--auth",),
    "triggers": ("--allow-functions",),
    "capacity": ("--capacity", "provisioned"),
    "faults": ("--faults",),
}
# Packages that the tests of this project do not install.
NEEDS = {"from-moto": "moto"}
SERVER = "127.0.0.1:8000"


def blocks_of(page):
    """Return language and text of the blocks of a page that can be run."""
    found = _BLOCK.findall(page.read_text())
    return [(language, text) for language, text in found if language in ("sh", "python")]


def script_of(page, port):
    """Return one shell script that does what a page says."""
    lines = ["set -euo pipefail"]
    for number, (language, text) in enumerate(blocks_of(page)):
        text = text.replace(SERVER, f"127.0.0.1:{port}")
        if language == "sh":
            lines.append(text)
            continue
        name = f"test_page_{number}.py" if "def test_" in text else f"page_{number}.py"
        lines.append(f"cat > {name} <<'PAGE'\n{text}PAGE")
        runner = "python -m pytest -q -p no:cacheprovider" if "def test_" in text else "python"
        lines.append(f"{runner} {name}")
    return "\n".join(lines)


@pytest.fixture
def server(request, tmp_path):
    flags = FLAGS.get(request.getfixturevalue("page").stem, ())
    served = Served(tmp_path / "data", "--workers", "1", *flags)
    served.start()
    yield served
    served.close()


def environment_of(served, home):
    """Return an environment without anything of this machine's user."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    # A server with users has printed the keys of its administrator.
    environment.update(re.findall(r"(AWS_\w+)=(\S+)", served.messages()))
    environment.pop("AWS_ENDPOINT_URL", None)
    return environment


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.stem
)
def test_the_code_of_a_page_runs(page, server, tmp_path):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    work = tmp_path / "work"
    work.mkdir()
    result = subprocess.run(
        ["bash", "-c", script_of(page, server.port)],
        cwd=work,
        env=environment_of(server, tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, f"{result.stdout[-3000:]}\n{result.stderr[-3000:]}"


def test_a_page_becomes_one_script(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\ncurl http://127.0.0.1:8000\n```\n```console\n$ reboot\n```\n"
        "```python\ndef test_x(): ...\n```\n```py\nfragment(\n```\n"
    )
    script = script_of(page, 9)
    assert "curl http://127.0.0.1:9" in script
    assert "pytest -q -p no:cacheprovider test_page_1.py" in script
    assert "reboot" not in script
    assert "fragment" not in script
