"""What the documents say is what the code does: flags, settings, operations, verbs, links."""

import re
import tomllib
from pathlib import Path

import pytest

from hashrange import __version__
from hashrange.cli.main import build_parser
from hashrange.config import default_of
from hashrange.options import OPTIONS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def rows_of(path):
    """Return the first three cells of each row of the tables of a document."""
    rows = {}
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) >= 2:
            rows[cells[0].strip("`")] = cells[1:]
    return rows


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_setting_is_documented_with_its_default(option):
    rows = rows_of(REFERENCE / "settings.md")
    assert f"--{option.name}" in rows
    default = default_of(option)
    shown = "none" if default in (None, ()) else "off" if default is False else f"`{default}`"
    assert rows[f"--{option.name}"][0] == shown


def test_no_setting_is_documented_that_does_not_exist():
    flags = {f"--{option.name}" for option in OPTIONS} | {"--config"}
    documented = {name for name in rows_of(REFERENCE / "settings.md") if name.startswith("--")}
    assert documented == flags


def test_the_help_text_names_every_flag():
    commands = next(
        dict(action.choices)
        for action in build_parser()._actions
        if isinstance(action.choices, dict)
    )
    text = commands["serve"].format_help()
    assert all(f"--{option.name}" in text for option in OPTIONS)


def test_flags_in_documents_exist():
    flags = {f"--{option.name}" for option in OPTIONS}
    flags |= {"--config", "--help", "--version"}
    for path in DOCUMENTS:
        for line in path.read_text().splitlines():
            for command in re.findall(r"hashrange serve([^`\n]*)", line):
                used = set(re.findall(r"--[a-z0-9-]+", command))
                assert used <= flags, f"{path.name}: {line}"


def test_every_operation_is_documented():
    from hashrange.api.registry import DYNAMODB, STREAMS

    text = (REFERENCE / "operations.md").read_text()
    missing = [
        name
        for name in (*DYNAMODB.operations, *STREAMS.operations)
        if not re.search(rf"\b{name}\b", text)
    ]
    assert not missing


def test_make_verbs_in_documents_exist():
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in DOCUMENTS:
        for verb in re.findall(r"`make ([a-z-]+)", path.read_text()):
            assert verb in verbs, f"{path.name} names make {verb}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_version_has_an_entry_in_the_changelog():
    assert __version__ in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for dependency in project["dependencies"]:
        name = re.split(r"[^\w-]", dependency)[0]
        assert f"`{name}`" in text, f"ARCHITECTURE.md does not say why {name} is used"


def test_every_tool_for_development_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    locked = {line.partition("==")[0] for line in lines}
    names = {re.split(r"[^\w.-]", dependency)[0] for dependency in wanted}
    names = {re.sub(r"[_.]", "-", name) for name in names}
    missing = names - locked
    assert not missing, "run make lock"
    assert all(re.match(r"[\w.-]+==[\w.]+( ;|$)", line) for line in lines), "only pinned versions"


def test_no_text_installs_hashrange_from_an_index_that_has_it_not():
    sources = (ROOT / "src" / "hashrange").rglob("*.py")
    for path in (*DOCUMENTS, *sources):
        found = re.search(r"(install|add) '?\"?hashrange\b|`hashrange\[", path.read_text())
        assert not found, f"{path.name}: {found.group()}"
