"""The tables in the documentation are those the rules and the tests give."""

from tests.toolkit.checker.tables import DOCUMENT, with_tables


def test_the_tables_in_the_document_are_current():
    text = DOCUMENT.read_text()
    assert text == with_tables(text), "run python -m tests.toolkit.checker.tables"
