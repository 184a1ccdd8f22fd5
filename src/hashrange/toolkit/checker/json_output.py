"""Findings as JSON for programs.

{"design": name, "findings": [{"rule", "severity", "subject", "message", "standard", "why",
 "mend", "waiver"}], "counts": {"error": n, "warning": n, "note": n, "waived": n}}
"""

from __future__ import annotations

import json
from typing import Any

from hashrange.toolkit.checker.check import Verdict
from hashrange.toolkit.checker.findings import SEVERITIES, Finding


def json_of(verdict: Verdict, *, name: str) -> str:
    """Return the verdict on a design as a JSON document."""
    counts: dict[str, int] = {severity: verdict.count(severity) for severity in SEVERITIES}
    counts["waived"] = len(verdict.waived)
    findings = [_document(finding) for finding in (*verdict.findings, *verdict.waived)]
    document = {"design": name, "findings": findings, "counts": counts}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _document(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule.id,
        "severity": finding.severity,
        "subject": finding.subject,
        "message": finding.message,
        "standard": finding.rule.standard,
        "why": finding.rule.why,
        "mend": finding.rule.mend,
        "waiver": finding.waiver.reason if finding.waiver else None,
    }
