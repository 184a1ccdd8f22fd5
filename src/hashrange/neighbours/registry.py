"""The table of neighbour services."""

from __future__ import annotations

from typing import Final

from hashrange.identities.store import IdentityStore
from hashrange.keyring.store import KeyStore
from hashrange.neighbours.cloudwatch import SERVICE as CLOUDWATCH
from hashrange.neighbours.iam import iam_service
from hashrange.neighbours.kms import kms_service
from hashrange.neighbours.service import Service
from hashrange.neighbours.sts import sts_service

SERVICES: Final[tuple[Service, ...]] = (CLOUDWATCH,)
"""The services that need nothing but the request's scope."""


def make_services(identities: IdentityStore, keys: KeyStore) -> tuple[Service, ...]:
    """Return all neighbour services of a server."""
    return (*SERVICES, iam_service(identities), kms_service(keys), sts_service(identities))
