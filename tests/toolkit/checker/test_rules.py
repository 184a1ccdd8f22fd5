"""Each rule finds what it is for and accepts a design without it."""

import pytest
import yaml

from hashrange.toolkit.checker.rulebook import design_rules
from tests.toolkit.checker.documents import HERE, rules_found, shop

CHANGES = yaml.safe_load((HERE / "changes.yaml").read_text())
# More steps than fit in a file that people read; the test below makes them.
WITHOUT_CHANGE = {"transaction-too-large"}


def test_the_shop_is_accepted():
    assert rules_found(shop(), "error", "warning") == set()


def test_every_rule_has_a_change_that_it_finds():
    assert {rule.id for rule in design_rules()} - WITHOUT_CHANGE == CHANGES.keys()


@pytest.mark.parametrize("rule", CHANGES)
def test_a_rule_finds_the_bad_change(rule):
    assert rule in rules_found(shop(CHANGES[rule]["bad"]))


@pytest.mark.parametrize("rule", CHANGES)
def test_a_rule_accepts_the_good_change(rule):
    design = shop(CHANGES[rule].get("good"))
    severities = ("error", "warning") if rule == "key-low-cardinality" else ()
    assert rule not in rules_found(design, *severities)


def test_a_transaction_of_101_steps_is_too_large():
    step = {"action": "delete", "entity": "order"}
    for count, found in ((100, False), (101, True)):
        pattern = {"operation": "transact_write", "steps": [step] * count}
        rules = rules_found(shop({"patterns.drop": pattern}))
        assert ("transaction-too-large" in rules) is found


@pytest.mark.parametrize("rule", design_rules(), ids=lambda rule: rule.id)
def test_a_rule_explains_itself(rule):
    assert rule.title.endswith(".")
    assert rule.standard
    assert rule.why.endswith(".")
    assert rule.mend


def test_rule_ids_are_unique():
    ids = [rule.id for rule in design_rules()]
    assert len(ids) == len(set(ids))
