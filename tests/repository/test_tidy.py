"""Every module keeps to the style: size, docstring, names, no leftovers."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hashrange"
MODULES = sorted(PACKAGE.rglob("*.py"))
FILES = sorted(
    path
    for folder in ("src", "tests", "bench")
    for path in (ROOT / folder).rglob("*.py")
    if "node_modules" not in path.parts
)

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 8
# A class this short says by its name and methods what it is.
PLAIN_CLASS_LINES_MAX = 30
# Tables of literals, which are long without being hard to read.
LONG_MODULES = {"api/shapes/requests.py"}

BANNED_MODULES = {"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"}
# Names that did not tell what was inside.
RIDDLES = {
    *("claims", "edge", "heads", "turn", "vigil", "entrance", "board", "patience", "transacted"),
    "refusals",
}
BANNED_WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
BARE_SILENCING = re.compile(r"#\s*(type:\s*ignore|noqa)\s*$|#\s*noqa:\s*\w+\s*$")
MACHINE_PATHS = re.compile(r"/work/|/root/|/home/\w+|/Users/\w+")


def name_of(path):
    return str(path.relative_to(ROOT))


def functions_of(tree):
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def lines_of(node):
    return node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_documented_short_and_well_named(path):
    text = path.read_text()
    tree = ast.parse(text)
    assert path.stem not in BANNED_MODULES
    if text:
        assert ast.get_docstring(tree), "the module lacks a docstring"
    if str(path.relative_to(PACKAGE)) not in LONG_MODULES:
        assert len(text.splitlines()) <= MODULE_LINES_MAX
    for function in functions_of(tree):
        lines = lines_of(function)
        assert lines <= FUNCTION_LINES_MAX, f"{function.name} has {lines} lines"
        arguments = function.args
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        count = sum(argument.arg not in ("self", "cls") for argument in names)
        # A constructor has as many as the thing has parts.
        assert count <= PARAMETERS_MAX or function.name == "__init__", (
            f"{function.name} has {count} parameters"
        )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_classes_say_what_they_are(path):
    missing = [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
        and lines_of(node) > PLAIN_CLASS_LINES_MAX
    ]
    assert not missing


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_names_are_no_riddles(path):
    assert path.stem not in RIDDLES
    assert path.parent.name not in RIDDLES
    classes = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)
    ]
    assert not [node.name for node in classes if node.name.strip("_").lower() in RIDDLES]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_has_no_leftovers(path):
    if path == Path(__file__):
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        assert not BANNED_WORDS.search(line), f"line {number}: {line.strip()}"
        assert not BARE_SILENCING.search(line), f"line {number} silences a tool without a reason"
        assert not MACHINE_PATHS.search(line), f"line {number} names a path of some machine"


def test_only_what_can_be_read_is_committed():
    listed = subprocess.run(
        ["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = [line.split("\t", 1)[1] for line in listed.stdout.splitlines()]
    unwanted = re.compile(r"__pycache__|\.pyc$|node_modules|\.egg-info|hashrange-data|\.venv")
    assert not [name for name in names if unwanted.search(name)]
    large = [name for name in names if (ROOT / name).is_file() and _size(name) > 500_000]
    assert not large


def _size(name):
    return (ROOT / name).stat().st_size
