"""Fault rules: which requests they meet, and that a seed repeats them."""

from hashrange.injection.rules import FaultPlan, FaultRule, tables_of


def kinds(plan, operation="GetItem", tables=("a",)):
    return [rule.kind for rule in plan.draw(operation, tables)]


def test_a_rule_meets_its_operation_and_its_table_only():
    plan = FaultPlan([FaultRule("fail", "GetItem", "a")])
    assert kinds(plan) == ["fail"]
    assert kinds(plan, "PutItem") == []
    assert kinds(plan, tables=("b",)) == []
    assert kinds(plan, tables=("b", "a")) == ["fail"]


def test_a_rule_without_names_meets_everything():
    assert kinds(FaultPlan([FaultRule("throttle")]), "Anything", ()) == ["throttle"]


def test_a_rule_ends_after_so_many_times():
    plan = FaultPlan([FaultRule("fail", times=2)])
    assert [kinds(plan) for _ in range(3)] == [["fail"], ["fail"], []]


def test_a_seed_repeats_the_choice_and_the_rate_is_kept():
    def drawn(seed):
        plan = FaultPlan([FaultRule("fail", rate=0.3)], seed)
        return [bool(kinds(plan)) for _ in range(1000)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 250 < sum(drawn(1)) < 350


def test_the_tables_of_a_request_are_found_wherever_they_are():
    assert tables_of({"TableName": "a"}) == ["a"]
    assert tables_of({"TableName": "arn:aws:dynamodb:r:0:table/a"}) == ["a"]
    assert tables_of({"RequestItems": {"a": {}, "b": {}}}) == ["a", "b"]
    assert tables_of({"TransactItems": [{"Get": {"TableName": "c"}}]}) == ["c"]
    assert tables_of({}) == []
