"""Findings as SARIF 2.1.0, the format code scanning services read.

A finding points at the line of the design file that declares its subject, as far as the text shows
it; waived findings are listed as suppressed, with their reason.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from hashrange.toolkit.checker.check import Verdict
from hashrange.toolkit.checker.findings import Finding, Rule

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SECTIONS: Final = {
    "table": "tables",
    "index": "indexes",
    "entity": "entities",
    "attribute": "attributes",
    "pattern": "patterns",
}


def sarif_of(verdict: Verdict, *, file: str, text: str, version: str) -> str:
    """Return the verdict on a design file, whose text is given, as a SARIF document."""
    findings = [*verdict.findings, *verdict.waived]
    rules = list({finding.rule.id: finding.rule for finding in findings}.values())
    positions = {rule.id: position for position, rule in enumerate(rules)}
    driver = {
        "name": "hashrange design check",
        "version": version,
        "rules": [_rule(rule) for rule in rules],
    }
    results = [_result(each, positions[each.rule.id], file, text) for each in findings]
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.why} Standard: {rule.standard}"},
        "help": {"text": rule.mend},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(finding: Finding, position: int, file: str, text: str) -> dict[str, Any]:
    where = f"{finding.subject}: " if finding.subject else ""
    path, line = file, line_of(text, finding.subject)
    if finding.subject.startswith("code:"):
        path, _, number = finding.subject.removeprefix("code:").rpartition(":")
        line = int(number)
    result: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": position,
        "level": finding.severity,
        "message": {"text": f"{where}{finding.message}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": path},
                    "region": {"startLine": line},
                }
            }
        ],
        "partialFingerprints": {"subject": f"{finding.rule.id}/{finding.subject}"},
    }
    if finding.waiver is not None:
        suppression = {"kind": "inSource", "justification": finding.waiver.reason}
        result["suppressions"] = [suppression]
    return result


def line_of(text: str, subject: str) -> int:
    """Return the line on which a design file declares a subject; 1 if it cannot be found.

    The section comes first ("patterns"), then the name: as a TOML header, or as a key of a
    mapping or call in TOML, YAML, JSON and Python.
    """
    kind, _, path = subject.partition(":")
    names = path.split(".") if kind in ("attribute", "index") else [path]
    section = _SECTIONS.get(kind, "")
    lines = text.splitlines()
    quoted = re.escape(names[-1])
    header = re.compile(rf"^\s*\[.*\b{section}\b.*\b{quoted}[\"'\]]")
    entry = re.compile(rf"[\"']?\b{quoted}\b[\"']?\s*[:=]|[\"']{quoted}[\"']")
    for number, line in enumerate(lines, 1):
        if path and header.search(line):
            return number
    start = next((at for at, line in enumerate(lines) if section and section in line), 0)
    for number, line in enumerate(lines[start:], start + 1):
        if path and entry.search(line):
            return number
    return 1
