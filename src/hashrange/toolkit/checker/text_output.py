"""Findings as text for people: grouped by severity, with the standard and the way to mend it."""

from __future__ import annotations

from collections.abc import Iterator

from hashrange.toolkit.checker.check import Verdict
from hashrange.toolkit.checker.findings import SEVERITIES, Finding


def text_of(verdict: Verdict, *, name: str, verbose: bool = False) -> str:
    """Return the verdict on a design as text; `verbose` explains each finding."""
    return "\n".join(_lines(verdict, name, verbose=verbose)) + "\n"


def _lines(verdict: Verdict, name: str, *, verbose: bool) -> Iterator[str]:
    hidden = 0
    for finding in verdict.findings:
        if finding.severity == "note" and not verbose:
            hidden += 1
            continue
        yield from _finding(finding, verbose=verbose)
    for finding in verdict.waived:
        assert finding.waiver is not None
        yield f"waived   {finding.rule.id}  {finding.subject}: {finding.waiver.reason}"
    counts = ", ".join(
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity in SEVERITIES
        if (count := verdict.count(severity))
    )
    yield f"{name}: {counts or 'no findings'}" + (
        f", {len(verdict.waived)} waived" if verdict.waived else ""
    )
    if hidden:
        yield "Notes are hidden; --verbose shows them and explains every finding."


def _finding(finding: Finding, *, verbose: bool) -> Iterator[str]:
    where = f"{finding.subject}: " if finding.subject else ""
    yield f"{finding.severity:<8} {finding.rule.id}  {where}{finding.message}"
    yield f"         mend: {finding.rule.mend}"
    if verbose:
        yield f"         why: {finding.rule.why}"
        yield f'         standard: "{finding.rule.standard}"'
