"""Every Red Line and Common Pitfall has a bad design that is caught and a good one accepted."""

import pytest
import yaml

from hashrange.toolkit.checker.check import check_design
from hashrange.toolkit.checker.code_rules import check_code
from hashrange.toolkit.design.documents import parse_design
from tests.toolkit.checker.documents import HERE, TODAY

CASES = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((HERE / "standards").glob("*.yaml"))
}


def findings_in(case, kind, tmp_path):
    design = parse_design(case[kind])
    code = tmp_path / "app.py"
    code.write_text(case.get(f"{kind}_code", ""))
    extra = check_code(design, code, tmp_path)
    return check_design(design, TODAY, extra).findings


def test_all_red_lines_and_pitfalls_are_there():
    kinds = [case["kind"] for case in CASES.values()]
    assert (kinds.count("Red Line"), kinds.count("Common Pitfall")) == (5, 10)


@pytest.mark.parametrize("name", CASES)
def test_the_bad_design_is_caught(name, tmp_path):
    case = CASES[name]
    found = {each.rule.id for each in findings_in(case, "bad", tmp_path)}
    assert set(case["rules"]) <= found


@pytest.mark.parametrize("name", CASES)
def test_the_good_design_is_accepted(name, tmp_path):
    found = findings_in(CASES[name], "good", tmp_path)
    assert [(each.rule.id, each.message) for each in found if each.severity != "note"] == []
