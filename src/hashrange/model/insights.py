"""Contributor insights of tables and indexes: their settings and the names of their rules. Pure.

setting := {"mode", "is_enabled", "enabled_at", "changed_at"}

The number that ends the names of rules is when insights were first enabled, in milliseconds.
"""

from __future__ import annotations

from typing import Final

from hashrange.model.records import InsightSetting, TableRecord

ACCESSED: Final = "ACCESSED_AND_THROTTLED_KEYS"
THROTTLED: Final = "THROTTLED_KEYS"

PREFIX: Final = "DynamoDBContributorInsights"
KINDS: Final = ("PKC", "PKT", "SKC", "SKT")
"""Partition keys and partition with sort keys, counted and throttled."""


def kinds_of(mode: str, *, has_sort: bool) -> list[str]:
    """Return the kinds of rules of a table or index."""
    return [
        kind
        for kind in KINDS
        if (has_sort or kind[0] == "P") and (mode == ACCESSED or kind[2] == "T")
    ]


def rule_name(kind: str, table: str, index: str, setting: InsightSetting) -> str:
    """Return the name of a rule in CloudWatch."""
    resource = f"{table}-{index}" if index else table
    return f"{PREFIX}-{kind}-{resource}-{int(setting['enabled_at'] * 1000)}"


def key_names(record: TableRecord, index: str) -> list[str]:
    """Return the names of the key attributes of a table or index."""
    schema = record.key_schema
    if index:
        found = record.index(index)
        assert found is not None, "insights are of indexes that exist"
        schema = found.key_schema
    return [part["AttributeName"] for part in schema]


def has_sort(record: TableRecord, index: str) -> bool:
    """Tell whether a table or index has a sort key."""
    schema = record.key_schema
    if index:
        found = record.index(index)
        schema = [] if found is None else found.key_schema
    return any(part["KeyType"] == "RANGE" for part in schema)
