"""Amazon CloudWatch: metrics of the database and of its users, alarms and dashboards."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.alarms.monitor import Monitor
from hashrange.neighbours.service import Handler, Service


def cloudwatch_service(monitor: Monitor) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.cloudwatch.operations import make_operations

        return make_operations(monitor)

    return Service(
        "cloudwatch",
        handlers,
        api_version="2010-08-01",
        signing_name="monitoring",
        target_prefix="GraniteServiceVersion20100801",
    )
