"""The operations of CloudWatch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.neighbours.service import Handler, Parameters, Result, Scope


async def list_metrics(scope: Scope, parameters: Parameters) -> Result:
    """Return the metrics that match; none are recorded yet, so no filter finds any."""
    return {"Metrics": []}


OPERATIONS: Final[Mapping[str, Handler]] = {"ListMetrics": list_metrics}
