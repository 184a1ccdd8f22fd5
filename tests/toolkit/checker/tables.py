"""Writes the tables of docs/toolkit/checker.md that are made from the rules and the tests.

python -m tests.toolkit.checker.tables
"""

from pathlib import Path

import yaml

from hashrange.toolkit.checker import code_rules, evolution_rules, policy_rules
from hashrange.toolkit.checker.check import WAIVER_RULE
from hashrange.toolkit.checker.rulebook import design_rules
from tests.toolkit.checker.documents import HERE

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "toolkit" / "checker.md"


def all_rules():
    """Return every rule of the checker."""
    others = (policy_rules, code_rules, evolution_rules)
    return [*design_rules(), *(rule for each in others for rule in each.book.rules), WAIVER_RULE]


def rules_table():
    """Return the table of all rules."""
    lines = ["| rule | severity | finds | standard |", "|---|---|---|---|"]
    lines += [
        f"| `{rule.id}` | {rule.severity} | {rule.title} | {rule.standard} |"
        for rule in all_rules()
    ]
    return "\n".join(lines)


def standards_table():
    """Return the table of Red Lines and Common Pitfalls with the designs that show them."""
    lines = ["| standard | kind | found by | bad and good design |", "|---|---|---|---|"]
    paths = sorted((HERE / "standards").glob("*.yaml"), key=lambda path: path.stem[0] != "r")
    for path in paths:
        case = yaml.safe_load(path.read_text())
        rules = ", ".join(f"`{rule}`" for rule in case["rules"])
        link = f"../../{path.relative_to(ROOT)}"
        lines.append(f"| {case['standard']} | {case['kind']} | {rules} | [{path.stem}]({link}) |")
    return "\n".join(lines)


def musts_table():
    """Return the table of every MUST with what enforces it."""
    lines = ["| standard | rules | command |", "|---|---|---|"]
    for must in musts():
        rules = ", ".join(f"`{rule}`" for rule in must["rules"])
        command = f"`{must['command']}`" if "command" in must else ""
        lines.append(f"| {must['standard']} | {rules} | {command} |")
    return "\n".join(lines)


def musts():
    """Return every MUST of the standards."""
    return yaml.safe_load((HERE / "musts.yaml").read_text())


def with_tables(text):
    """Return the text of the document with its tables renewed."""
    tables = {"rules": rules_table(), "standards": standards_table(), "musts": musts_table()}
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, block = text.split(begin)
        text = f"{before}{begin}{table}\n{end}{block.split(end, 1)[1]}"
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text()))
