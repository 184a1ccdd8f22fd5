"""The tables in the documentation are those the rules and the tests give."""

from tests.toolkit.checker.tables import DOCUMENT, all_rules, musts, with_tables


def test_the_tables_in_the_document_are_current():
    text = DOCUMENT.read_text()
    assert text == with_tables(text), "run python -m tests.toolkit.checker.tables"


def test_every_must_is_enforced_by_rules_that_exist():
    known = {rule.id for rule in all_rules()}
    assert len(musts()) == 30
    for must in musts():
        assert must["rules"]
        assert set(must["rules"]) <= known
