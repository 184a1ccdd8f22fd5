"""The table of neighbour services."""

from __future__ import annotations

from hashrange.alarms.monitor import Monitor
from hashrange.audit.events import EventStore
from hashrange.identities.store import IdentityStore
from hashrange.keyring.store import KeyStore
from hashrange.neighbours.cloudtrail import cloudtrail_service
from hashrange.neighbours.cloudwatch import cloudwatch_service
from hashrange.neighbours.iam import iam_service
from hashrange.neighbours.kms import kms_service
from hashrange.neighbours.service import Service
from hashrange.neighbours.sns import sns_service
from hashrange.neighbours.sts import sts_service


def make_services(
    identities: IdentityStore, keys: KeyStore, monitor: Monitor, events: EventStore
) -> tuple[Service, ...]:
    """Return the neighbour services that all servers have."""
    return (
        cloudtrail_service(events),
        cloudwatch_service(monitor),
        iam_service(identities),
        kms_service(keys),
        sns_service(monitor.topics),
        sts_service(identities),
    )
