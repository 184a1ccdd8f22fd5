"""ListMetrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from hashrange.metrics.reader import Metrics
from hashrange.metrics.series import Series
from hashrange.neighbours.cloudwatch.requests import page, show_dimensions
from hashrange.neighbours.service import Handler, Parameters, Result, Scope

_PAGE_METRICS: Final = 500
_LISTED_DAYS: Final = 14
_RECENT_DAYS: Final = 1


@final
class MetricLists:
    """Lists of metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def list_metrics(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the metrics that match, a page of 500.

        RecentlyActive is taken to the day, since that is how often series are noted.
        """
        namespace, name = parameters.get("Namespace"), parameters.get("MetricName")
        parts = [] if namespace is None else [namespace] + ([] if name is None else [name])
        days = _RECENT_DAYS if "RecentlyActive" in parameters else _LISTED_DAYS
        found = await self._metrics.listed(scope.account, scope.region, *parts, recent_days=days)
        filters = parameters.get("Dimensions") or []
        chosen = [
            series
            for series in found
            if (name is None or series.name == name) and _matches(series, filters)
        ]
        shown, token = page(chosen, parameters, _PAGE_METRICS)
        metrics = [
            {
                "Namespace": series.namespace,
                "MetricName": series.name,
                "Dimensions": show_dimensions(series),
            }
            for series in shown
        ]
        return {"Metrics": metrics, **token}

    def operations(self) -> Mapping[str, Handler]:
        return {"ListMetrics": self.list_metrics}


def _matches(series: Series, filters: list[Parameters]) -> bool:
    dimensions = dict(series.dimensions)
    return all(
        wanted["Name"] in dimensions and wanted.get("Value") in (None, dimensions[wanted["Name"]])
        for wanted in filters
    )
