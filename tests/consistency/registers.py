"""Runs porcupine, a checker of linearizability in Go, on histories of registers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.consistency.history import OK, REFUSED, Operation

SOURCES = Path(__file__).parent / "porcupine"


def build(directory: Path) -> Path:
    """Compile the checker; needs Go and its module proxy."""
    program = directory / "porcupine-registers"
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    subprocess.run(
        ["go", "build", "-o", str(program), "."], cwd=SOURCES, check=True, env=environment
    )
    return program


def check_registers(program: Path, operations: Sequence[Operation]) -> list[str]:
    """Return the registers whose history no order explains."""
    text = "".join(json.dumps(line) + "\n" for line in _lines(operations))
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    return [line for line in result.stdout.splitlines() if not line.startswith("ok ")]


def _lines(operations: Sequence[Operation]) -> Iterable[dict[str, object]]:
    for operation in operations:
        if operation.kind == "read" and operation.outcome != OK:
            continue  # it saw nothing and changed nothing
        if operation.kind == "put" and operation.outcome == REFUSED:
            continue
        if operation.kind == "swap" and operation.outcome == REFUSED and _was_not_tried(operation):
            continue
        (key,) = operation.read or operation.wrote
        value = operation.read[key] if operation.kind == "read" else operation.wrote[key]
        yield {
            "process": operation.process,
            "kind": operation.kind,
            "key": key,
            "value": value,
            "expected": operation.read[key] if operation.kind == "swap" else 0,
            "outcome": operation.outcome,
            "called": operation.called,
            "returned": operation.returned,
        }


def _was_not_tried(operation: Operation) -> bool:
    """Tell whether a refusal says nothing about the value: the condition was not looked at."""
    return operation.refusal != "ConditionalCheckFailedException"
