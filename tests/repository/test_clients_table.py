"""The table of clients names every program and no other; the README names every client."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "clients.md"
MORE = ROOT / "tests" / "clients" / "more"
VERB = "`make clients-more`"


def rows():
    """Return client, verbs and linked files of each row of the table."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and "](" in cells[-1]:
            links = re.findall(r"\]\(([^)]+)\)", cells[-1])
            yield cells[0], cells[2], {(PAGE.parent / link).resolve() for link in links}


def test_every_program_has_a_row_and_every_row_a_program():
    listed = set().union(*(links for _, _, links in rows()))
    assert all(path.exists() for path in listed)
    programs = {path for path in MORE.rglob("*.*") if path.suffix in {".py", ".mjs", ".go"}}
    assert len(programs) >= 17
    assert {path for path in listed if MORE in path.parents} == programs


def test_a_row_says_what_runs_its_program():
    for client, verbs, links in rows():
        assert (VERB in verbs) == any(MORE in path.parents for path in links), client


def test_the_readme_names_every_client():
    text = " ".join((ROOT / "README.md").read_text().partition("## Tried with")[2].split())
    section = text.partition("## ")[0].lower()
    for client, _, _ in rows():
        for name in re.split(r", | \(| with the ", client.rstrip(")").lower()):
            word = name.removeprefix("aws sdk for ").removeprefix("on ").split(" v")[0]
            assert word in section, f"the README does not name {name}"
