"""Amazon CloudWatch: metrics of the database and of its users."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.metrics.reader import Metrics
from hashrange.neighbours.service import Handler, Service


def cloudwatch_service(metrics: Metrics) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.cloudwatch.operations import make_operations

        return make_operations(metrics)

    return Service(
        "cloudwatch",
        handlers,
        api_version="2010-08-01",
        signing_name="monitoring",
        target_prefix="GraniteServiceVersion20100801",
    )
