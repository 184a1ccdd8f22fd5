"""All rules of the checker that look at a design alone, in the order they are reported."""

from __future__ import annotations

from hashrange.toolkit.checker import (
    index_rules,
    item_rules,
    key_rules,
    pattern_rules,
    table_rules,
    write_rules,
)
from hashrange.toolkit.checker.findings import Rule


def design_rules() -> tuple[Rule, ...]:
    """Return the rules on designs."""
    books = (key_rules, index_rules, pattern_rules, item_rules, write_rules, table_rules)
    return tuple(rule for module in books for rule in module.book.rules)
