"""All neighbour services on empty stores in memory, for tests of the whole registry."""

from pathlib import Path

from hashrange.neighbours.registry import make_services
from hashrange.neighbours.s3 import s3_service
from hashrange.neighbours.service import Service
from hashrange.objects.folder import FolderStore
from tests.harness.identities import event_store, identity_store, key_store
from tests.harness.monitors import make_monitor
from tests.harness.scaling import scaling_service


def all_services() -> tuple[Service, ...]:
    """Return the services that a server has."""
    services = make_services(identity_store(), key_store(), make_monitor(), event_store())
    return (*services, scaling_service(), s3_service(FolderStore(Path("/nowhere/hashrange"))))
