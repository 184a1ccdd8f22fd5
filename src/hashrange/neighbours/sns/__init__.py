"""Amazon SNS: topics, and subscriptions of HTTP endpoints and registered functions."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.alarms.topics import TopicStore
from hashrange.neighbours.service import Handler, Service


def sns_service(topics: TopicStore) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.sns.operations import make_operations

        return make_operations(topics)

    return Service("sns", handlers, api_version="2010-03-31")
