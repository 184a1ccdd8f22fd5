"""Waivers, outputs and the command line of `hashrange design check`."""

import json
from datetime import date

import pytest

from hashrange.cli.main import main
from hashrange.toolkit.checker.check import check_design
from hashrange.toolkit.checker.json_output import json_of
from hashrange.toolkit.checker.sarif_output import line_of, sarif_of
from hashrange.toolkit.checker.text_output import text_of
from hashrange.toolkit.design.documents import design_to_toml
from tests.toolkit.checker.documents import HERE, TODAY, rules_found, shop

STRONG = {"patterns.user.consistent": True}


def waived(**waiver):
    waiver = {"rule": "pattern-strong-read", "reason": "agreed with finance", **waiver}
    return check_design(shop({**STRONG, "waivers": [waiver]}), TODAY)


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["design", *map(str, arguments)])
    return stopped.value.code


@pytest.fixture
def bad_file(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(design_to_toml(shop(STRONG)))
    return path


@pytest.mark.parametrize("subject", ["", "pattern:user"])
def test_a_waiver_accepts_a_finding(subject):
    verdict = waived(subject=subject)
    assert not verdict.fails("error")
    assert [finding.waiver.reason for finding in verdict.waived] == ["agreed with finance"]


@pytest.mark.parametrize(
    "waiver",
    [{"subject": "pattern:session"}, {"reason": " "}, {"until": date(2026, 5, 16)}],
    ids=["elsewhere", "without reason", "ended"],
)
def test_a_waiver_that_does_not_apply_accepts_nothing_and_is_reported(waiver):
    verdict = waived(**waiver)
    assert {"pattern-strong-read", "waiver-invalid"} <= {f.rule.id for f in verdict.findings}
    assert verdict.waived == ()


def test_a_waiver_counts_on_its_last_day():
    assert not waived(until=TODAY).fails("error")


def test_findings_come_with_the_gravest_first():
    verdict = check_design(shop({**STRONG, "patterns.user.description": None}), TODAY)
    order = [finding.severity for finding in verdict.findings]
    assert order == sorted(order, key=["error", "warning", "note"].index)


def test_text_names_the_rule_the_subject_and_the_remedy():
    text = text_of(check_design(shop(STRONG), TODAY), name="shop")
    assert "error    pattern-strong-read  pattern:user: consistent_reason is empty" in text
    assert "mend: Leave consistent out" in text
    assert text.endswith("Notes are hidden; --verbose shows them and explains every finding.\n")


def test_verbose_text_quotes_the_standard():
    text = text_of(check_design(shop(STRONG), TODAY), name="shop", verbose=True)
    assert 'standard: "Strongly consistent reads MUST be used only when required."' in text


def test_json_has_findings_and_counts():
    document = json.loads(json_of(waived(), name="shop"))
    assert document["counts"]["waived"] == 1
    (finding,) = [each for each in document["findings"] if each["waiver"]]
    assert finding["rule"] == "pattern-strong-read"


def test_sarif_points_at_the_declaration_and_marks_waived_findings():
    text = (HERE / "shop.toml").read_text()
    run = json.loads(sarif_of(waived(), file="shop.toml", text=text, version="1"))["runs"][0]
    (result,) = [each for each in run["results"] if each["ruleId"] == "pattern-strong-read"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "shop.toml"
    line = location["region"]["startLine"]
    assert text.splitlines()[line - 1] == "[patterns.user]"
    assert result["suppressions"] == [{"kind": "inSource", "justification": "agreed with finance"}]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "pattern-strong-read"


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        ("table:Shop", "[tables.Shop]"),
        ("index:Shop.GSI1", "[tables.Shop.indexes.GSI1]"),
        ("entity:order", "[entities.order]"),
        ("attribute:order.total", 'total = "N"'),
        ("pattern:user", "[patterns.user]"),
        ("", 'name = "shop"'),
    ],
)
def test_a_subject_is_found_in_the_file(subject, line):
    text = (HERE / "shop.toml").read_text()
    assert text.splitlines()[line_of(text, subject) - 1] == line


def test_the_command_succeeds_for_a_good_design(capsys):
    assert run("check", HERE / "shop.toml", "--fail-on", "warning") == 0
    assert "shop: 1 note" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_the_command_fails_for_a_bad_design(form, bad_file, capsys):
    assert run("check", bad_file, "--format", form) == 1
    assert "pattern-strong-read" in capsys.readouterr().out


def test_the_command_reads_a_design_from_a_module(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_design.py").write_text(
        "from hashrange.toolkit import Design, Table\n"
        "DESIGN = Design('tiny', (Table('Tiny', 'id'),))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("check", "my_design:DESIGN") == 1
    assert "pattern-none" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["nothing.toml", "no_such_module:X", "json:dumps", "shop"])
def test_the_command_says_what_it_cannot_load(target, capsys):
    assert run("check", target) == 2
    assert capsys.readouterr().err.startswith("hashrange: ")


def test_a_contradictory_design_is_a_wrong_argument(tmp_path, capsys):
    path = tmp_path / "broken.toml"
    path.write_text('name = "x"\n[patterns.p]\noperation = "get"\n')
    assert run("check", path) == 2
    assert "tables must be given" in capsys.readouterr().err


def test_output_goes_to_a_file(tmp_path, bad_file, capsys):
    assert run("check", bad_file, "--format", "json", "--output", tmp_path / "out.json") == 1
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["error"] == 1
    assert capsys.readouterr().out == ""


def test_declared_reasons_silence_rules_without_waivers():
    reason = {"patterns.user.consistent_reason": "the owner must see the change"}
    assert "pattern-strong-read" not in rules_found(shop({**STRONG, **reason}))
