"""Application Auto Scaling: capacity of tables and global indexes that follows consumption."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.neighbours.service import Handler, Service
from hashrange.scaling.alarms import Alarms
from hashrange.scaling.store import ScalingStore
from hashrange.scaling.worker import Capacities


def autoscaling_service(
    store: ScalingStore, capacities: Capacities, alarms: Alarms | None, *, is_measuring: bool
) -> Service:
    """Return the service; its operations are imported when it is first called.

    `is_measuring` says whether there are metrics that policies can follow.
    """

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.autoscaling.operations import make_operations

        return make_operations(store, capacities, alarms, is_measuring=is_measuring)

    return Service(
        "application-autoscaling",
        handlers,
        api_version="2016-02-06",
        target_prefix="AnyScaleFrontendService",
    )
