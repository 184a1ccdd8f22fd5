"""Applies rules to a design and sorts out what its waivers accept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import final

from hashrange.toolkit.checker.findings import (
    SEVERITIES,
    Finding,
    Problem,
    Problems,
    Rule,
    Severity,
)
from hashrange.toolkit.checker.rulebook import design_rules
from hashrange.toolkit.design.expectations import Waiver
from hashrange.toolkit.design.model import Design


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found: findings that count, and findings that waivers accept."""

    findings: tuple[Finding, ...]
    waived: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return how many findings of a severity count."""
        return sum(finding.severity == severity for finding in self.findings)

    def fails(self, threshold: Severity) -> bool:
        """Tell whether a finding of this severity or a graver one counts."""
        graver = SEVERITIES[: SEVERITIES.index(threshold) + 1]
        return any(finding.severity in graver for finding in self.findings)


def check_design(design: Design, today: date, extra: Sequence[Finding] = ()) -> Verdict:
    """Apply all rules; `extra` are findings of other sources, to which waivers apply as well."""
    found = [*extra]
    for rule in design_rules():
        found += findings_of(rule, rule.examine(design))
    valid = [each for each in design.waivers if each.until is None or each.until >= today]
    counted, waived = _divide(found, valid)
    counted += _waiver_findings(design, today, found)
    counted.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Verdict(tuple(counted), tuple(waived))


def findings_of(rule: Rule, problems: Iterable[Problem]) -> list[Finding]:
    """Return problems as findings of a rule."""
    return [
        Finding(rule, each.severity or rule.severity, each.subject, each.message)
        for each in problems
    ]


def _divide(
    findings: Iterable[Finding], waivers: Sequence[Waiver]
) -> tuple[list[Finding], list[Finding]]:
    counted: list[Finding] = []
    waived: list[Finding] = []
    for finding in findings:
        waiver = next((each for each in waivers if _accepts(each, finding)), None)
        if waiver is None:
            counted.append(finding)
        else:
            waived.append(replace(finding, waiver=waiver))
    return counted, waived


def _accepts(waiver: Waiver, finding: Finding) -> bool:
    if waiver.rule != finding.rule.id or not waiver.reason.strip():
        return False
    return waiver.subject in ("", finding.subject)


def _waiver_findings(design: Design, today: date, found: Sequence[Finding]) -> list[Finding]:
    problems = []
    for waiver in design.waivers:
        about = f"{waiver.rule} {waiver.subject}".strip()
        if not waiver.reason.strip():
            problems.append(Problem(waiver.subject, f"the waiver of {about} has no reason"))
        elif waiver.until is not None and waiver.until < today:
            problems.append(Problem(waiver.subject, f"the waiver of {about} ended {waiver.until}"))
        elif not any(_accepts(waiver, finding) for finding in found):
            message = f"the waiver of {about} accepts nothing: remove it"
            problems.append(Problem(waiver.subject, message, "warning"))
    return findings_of(WAIVER_RULE, problems)


def _examine_nothing(_: Design) -> Problems:
    yield from ()


WAIVER_RULE = Rule(
    "waiver-invalid",
    "error",
    "A waiver has no reason, has ended, or accepts nothing.",
    "Violations of these standards MUST be treated as defects.",
    "An exception without a reason, or one that outlived it, hides the next defect.",
    "Give a reason, extend or remove the waiver.",
    _examine_nothing,
)
