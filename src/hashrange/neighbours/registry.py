"""The table of neighbour services."""

from __future__ import annotations

from typing import Final

from hashrange.identities.store import IdentityStore
from hashrange.neighbours.cloudwatch import SERVICE as CLOUDWATCH
from hashrange.neighbours.iam import iam_service
from hashrange.neighbours.s3 import s3_service
from hashrange.neighbours.service import Service
from hashrange.neighbours.sts import sts_service
from hashrange.objects.folder import FolderStore

SERVICES: Final[tuple[Service, ...]] = (CLOUDWATCH,)
"""The services that need nothing but the request's scope."""


def make_services(
    identities: IdentityStore, buckets: FolderStore | None = None
) -> tuple[Service, ...]:
    """Return all neighbour services of a server; S3 only where there is a folder of buckets."""
    services = (*SERVICES, iam_service(identities), sts_service(identities))
    return services if buckets is None else (*services, s3_service(buckets))
