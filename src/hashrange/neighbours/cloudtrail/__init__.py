"""AWS CloudTrail: a look at the management events of the last 90 days."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.audit.events import EventStore
from hashrange.neighbours.service import Handler, Service


def cloudtrail_service(events: EventStore) -> Service:
    """Return the service; its operation is imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.cloudtrail.operations import make_operations

        return make_operations(events)

    return Service(
        "cloudtrail",
        handlers,
        api_version="2013-11-01",
        target_prefix="com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101",
    )
