"""Rules of composite alarms."""

import pytest

from hashrange.alarms.composite import CompositeRule, RuleError

STATES = {"a": "ALARM", "b": "OK", "c d": "INSUFFICIENT_DATA"}


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ('ALARM("a")', True),
        ("ALARM(a) AND ALARM(b)", False),
        ("ALARM(a) OR ALARM(b)", True),
        ("NOT OK(a) AND OK(b)", True),
        ("ALARM(b) OR ALARM(a) AND OK(b)", True),
        ("(ALARM(b) OR ALARM(a)) AND ALARM(b)", False),
        ('INSUFFICIENT_DATA("c d")', True),
        ("TRUE", True),
        ("NOT TRUE", False),
        ('ALARM("arn:aws:cloudwatch:us-east-1:000000000000:alarm:a")', True),
    ],
)
def test_a_rule_holds_by_the_states_of_its_children(rule, holds):
    assert CompositeRule(rule).holds(STATES.__getitem__) is holds


@pytest.mark.parametrize("rule", ["", "ALARM(", "ALARM(a) b", "WRONG(a)", "AND", "(TRUE", "NOT"])
def test_a_rule_that_cannot_be_read_is_refused(rule):
    with pytest.raises(RuleError):
        CompositeRule(rule)


def test_a_deeply_nested_rule_is_refused():
    with pytest.raises(RuleError, match="nested too deeply"):
        CompositeRule("(" * 1000 + "TRUE" + ")" * 1000)


def test_children_are_named_once():
    assert CompositeRule("ALARM(a) OR OK(a) OR ALARM(b)").children == ["a", "b"]
