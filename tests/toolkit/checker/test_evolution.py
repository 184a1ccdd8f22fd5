"""A new version of a design keeps what the previous one promised."""

import pytest

from hashrange.toolkit.checker.evolution_rules import compare_designs
from tests.toolkit.checker.documents import shop

LOCAL = {"kind": "local", "partition_key": "PK", "sort_key": "status", "reason": "a report"}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"patterns.session": None}, "evolution-pattern-lost"),
        ({"patterns.user_orders.sort_key": {"begins_with": "ORDER#{year}"}},
         "evolution-pattern-lost"),
        ({"entities.session.keys.PK": "S#{session_id}"}, "evolution-destructive"),
        ({"entities.order.attributes.total": "S"}, "evolution-destructive"),
        ({"tables.Shop.indexes.GSI1.sort_key": "status", "entities.order.keys.GSI1SK": None},
         "evolution-destructive"),
        ({"tables.Shop.indexes.L": LOCAL}, "evolution-destructive"),
        ({"entities.order.attributes.note": "S"}, "evolution-required-attribute"),
    ],
)  # fmt: skip
def test_a_breaking_change_is_found(change, rule):
    assert rule in {finding.rule.id for finding in compare_designs(shop(), shop(change))}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"entities.order.attributes.note": {"required": False}},
        {"patterns.cancel": {"operation": "delete", "entities": ["order"]}},
        {"tables.Shop.indexes.New": {"partition_key": "status", "reason": "a report"}},
    ],
)
def test_an_addition_is_accepted(change):
    assert compare_designs(shop(), shop(change)) == []
