"""What measuring the coverage of tests costs: Python that is traced takes longer."""

from __future__ import annotations

import sys
from typing import Final

# Loops of short calls take two to three times as long.
_TRACED_FACTOR: Final = 3.0


def traced_factor() -> float:
    """Return by how much bounds in CPU time are to be widened: 1 unless coverage is measured."""
    coverage = sys.modules.get("coverage")
    is_traced = coverage is not None and coverage.Coverage.current() is not None
    return _TRACED_FACTOR if is_traced else 1.0
