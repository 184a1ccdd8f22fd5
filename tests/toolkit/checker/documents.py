"""Design documents for tests of the checker: the good shop, changed by dotted paths."""

import copy
import tomllib
from datetime import date
from pathlib import Path

from hashrange.toolkit.checker.check import check_design
from hashrange.toolkit.design.documents import parse_design

HERE = Path(__file__).parent
SHOP = tomllib.loads((HERE / "shop.toml").read_text())
TODAY = date(2026, 5, 17)


def changed(document, change):
    """Return a document with parts replaced, added or removed."""
    result = copy.deepcopy(document)
    for path, value in change.items():
        *parents, last = path.split(".")
        part = result
        for name in parents:
            part = part.setdefault(name, {})
        if value is None:
            part.pop(last, None)
        else:
            part[last] = copy.deepcopy(value)
    return result


def shop(change=None):
    """Return the good shop, changed."""
    return parse_design(changed(SHOP, change or {}))


def rules_found(design, *severities):
    """Return the ids of the rules that find something."""
    wanted = severities or ("error", "warning", "note")
    verdict = check_design(design, TODAY)
    return {finding.rule.id for finding in verdict.findings if finding.severity in wanted}
