"""Where the result of a command goes."""

from __future__ import annotations

import sys
from pathlib import Path


def write(text: str, output: str | None) -> None:
    """Write a result to a file, or to standard output."""
    if output:
        Path(output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
