"""Reads Python code for what a design cannot show: scans, retries, lost batch items, strangers.

Findings have the subject `code:path:line`. A comment on the line accepts one, with a reason:

    table.scan()  # waive code-scan: the nightly export runs on a copy
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hashrange.toolkit.checker.check import findings_of
from hashrange.toolkit.checker.findings import Finding, Problem, Problems, Rulebook
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError

FILES_MAX: Final = 10_000
_WAIVE: Final = re.compile(r"#\s*waive\s+([\w-]+):\s*\S")
_SCAN_PARAMETERS: Final = frozenset(
    {"TableName", "FilterExpression", "IndexName", "Segment", "ProjectionExpression", "Limit"}
)
_BATCHES: Final = {"batch_write_item": "UnprocessedItems", "batch_get_item": "UnprocessedKeys"}

book = Rulebook()


@book.rule(
    "code-scan",
    "error",
    standard="Scan operations in production",
    why="A scan reads and bills every item of the table.",
    mend="Call an access pattern that queries.",
)
def _scan(_: Design) -> Problems:
    """Code scans a table."""
    yield from ()


@book.rule(
    "code-retries-disabled",
    "error",
    standard="Missing Retries: No exponential backoff",
    why="Throttling and network errors are normal; without retries each becomes a failure.",
    mend="Use retries={'mode': 'standard', 'max_attempts': 3} or more.",
)
def _retries(_: Design) -> Problems:
    """Code turns retries off."""
    yield from ()


@book.rule(
    "code-unprocessed",
    "error",
    standard="Missing Retries: No exponential backoff",
    why="A batch call succeeds even if DynamoDB did not process all items.",
    mend="Send UnprocessedItems again with back-off, or use the toolkit's batches.",
)
def _unprocessed(_: Design) -> Problems:
    """Code ignores the unprocessed part of a batch."""
    yield from ()


@book.rule(
    "code-undeclared",
    "warning",
    standard="Do not create tables without considering access patterns",
    why="Tables and indexes outside the design are outside every check.",
    mend="Declare the table or index in the design.",
)
def _undeclared(_: Design) -> Problems:
    """Code uses a table or an index that the design does not declare."""
    yield from ()


def check_code(design: Design, path: Path, root: Path) -> list[Finding]:
    """Return findings in a Python file, or in all below a directory; paths relative to a root."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    if len(files) > FILES_MAX:
        raise DesignError(f"{path} has more than {FILES_MAX} Python files")
    return [finding for file in files for finding in _of_file(design, file, root)]


def _of_file(design: Design, file: Path, root: Path) -> Iterator[Finding]:
    text = file.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise DesignError(f"{file.name} is no Python: {error}") from error
    lines = text.splitlines()
    name = file.relative_to(root) if file.is_relative_to(root) else file
    rules = {rule.id: rule for rule in book.rules}
    for rule_id, line, message in _problems(design, tree):
        waived = _WAIVE.search(lines[line - 1])
        if waived is None or waived.group(1) != rule_id:
            yield from findings_of(rules[rule_id], [Problem(f"code:{name}:{line}", message)])


def _problems(design: Design, tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    tables = {table.name for table in design.tables}
    indexes = {index.name for table in design.tables for index in table.indexes}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _lost_batches(node)
        if not isinstance(node, ast.Call):
            continue
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if _is_scan(node, method):
            yield "code-scan", node.lineno, "it scans"
        if _without_retries(node):
            yield "code-retries-disabled", node.lineno, "at most one attempt is made"
        for kind, value, line in _names(node, method):
            if value not in (tables if kind == "table" else indexes):
                yield "code-undeclared", line, f"the design has no {kind} {value}"


def _is_scan(node: ast.Call, method: str) -> bool:
    if method == "get_paginator":
        return bool(node.args) and _constant(node.args[0]) == "scan"
    keywords = {each.arg for each in node.keywords}
    return (
        method == "scan" and not node.args and (not keywords or bool(keywords & _SCAN_PARAMETERS))
    )


def _without_retries(node: ast.Call) -> bool:
    for keyword in node.keywords:
        if keyword.arg == "retries" and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                least = {"max_attempts": 0, "total_max_attempts": 1}.get(str(_constant(key)), -1)
                given = _constant(value)
                if isinstance(given, int) and given <= least:
                    return True
    return False


def _lost_batches(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, int, str]]:
    texts = {node.value for node in ast.walk(function) if isinstance(node, ast.Constant)}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            key = _BATCHES.get(node.func.attr)
            if key is not None and key not in texts:
                yield "code-unprocessed", node.lineno, f"{key} of {node.func.attr} is not looked at"


def _names(node: ast.Call, method: str) -> Iterator[tuple[str, str, int]]:
    for keyword in node.keywords:
        kind = {"TableName": "table", "IndexName": "index"}.get(keyword.arg or "")
        value = _constant(keyword.value)
        if kind and isinstance(value, str):
            yield kind, value, node.lineno
    if method == "Table" and len(node.args) == 1 and isinstance(_constant(node.args[0]), str):
        yield "table", str(_constant(node.args[0])), node.lineno


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
