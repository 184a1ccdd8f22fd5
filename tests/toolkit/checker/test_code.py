"""Code is held to the design: scans, retries, unprocessed items, undeclared tables."""

import pytest

from hashrange.toolkit.checker.code_rules import check_code
from hashrange.toolkit.errors import DesignError
from tests.toolkit.checker.documents import shop


def found(tmp_path, text):
    path = tmp_path / "app.py"
    path.write_text(text)
    return [(each.rule.id, each.subject) for each in check_code(shop(), tmp_path, tmp_path)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("table.scan()", "code-scan"),
        ("client.scan(TableName='Shop')", "code-scan"),
        ("client.get_paginator('scan')", "code-scan"),
        ("Config(retries={'max_attempts': 0})", "code-retries-disabled"),
        ("Config(retries={'total_max_attempts': 1})", "code-retries-disabled"),
        ("def f():\n    c.batch_get_item(RequestItems=x)", "code-unprocessed"),
        ("dynamodb.Table('Other')", "code-undeclared"),
        ("client.query(TableName='Shop', IndexName='GSI7')", "code-undeclared"),
    ],
)
def test_bad_code_is_found(tmp_path, text, rule):
    line = len(text.splitlines())
    assert found(tmp_path, text) == [(rule, f"code:app.py:{line}")]


@pytest.mark.parametrize(
    "text",
    [
        "scanner.scan(image)",
        "lexer.scan(mode=3)",
        "Config(retries={'max_attempts': 4, 'mode': 'standard'})",
        "client.query(TableName='Shop', IndexName='GSI1')",
        "def f():\n    return c.batch_get_item(RequestItems=x)['UnprocessedKeys']",
        "table.scan()  # waive code-scan: an export of a copy",
    ],
)
def test_good_code_is_accepted(tmp_path, text):
    assert found(tmp_path, text) == []


def test_a_waiver_without_reason_counts_for_nothing(tmp_path):
    assert found(tmp_path, "table.scan()  # waive code-scan:") != []


def test_what_is_no_python_is_refused(tmp_path):
    with pytest.raises(DesignError, match="is no Python"):
        found(tmp_path, "def")
