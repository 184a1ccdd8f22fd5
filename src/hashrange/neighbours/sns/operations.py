"""The operations of SNS."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.alarms.topics import TopicStore
from hashrange.neighbours.service import Handler
from hashrange.neighbours.sns.publishing import Publishing
from hashrange.neighbours.sns.subscriptions import Subscriptions
from hashrange.neighbours.sns.topics import Topics


def make_operations(topics: TopicStore) -> Mapping[str, Handler]:
    """Return all operations by name."""
    found: dict[str, Handler] = {}
    for part in (Publishing(topics), Subscriptions(topics), Topics(topics)):
        found.update(part.operations())
    return found
