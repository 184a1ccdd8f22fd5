"""The service of automatic scaling, for tests that call none of its operations."""

from hashrange.app.scaling import TableCapacities
from hashrange.neighbours.autoscaling import autoscaling_service
from hashrange.neighbours.service import Service
from hashrange.scaling.store import ScalingStore
from tests.harness.metered import Metered


def scaling_service() -> Service:
    """Return the service on an empty database."""
    with Metered() as metered:
        database = metered.database
    store = ScalingStore(database.engine)
    return autoscaling_service(store, TableCapacities(database), None, is_measuring=True)
