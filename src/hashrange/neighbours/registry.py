"""The table of neighbour services."""

from __future__ import annotations

from hashrange.identities.store import IdentityStore
from hashrange.metrics.reader import Metrics
from hashrange.neighbours.cloudwatch import cloudwatch_service
from hashrange.neighbours.iam import iam_service
from hashrange.neighbours.service import Service
from hashrange.neighbours.sts import sts_service


def make_services(identities: IdentityStore, metrics: Metrics) -> tuple[Service, ...]:
    """Return all neighbour services of a server."""
    return (cloudwatch_service(metrics), iam_service(identities), sts_service(identities))
