"""The service of this server's own operations, found by path: fault injection."""

from __future__ import annotations

from typing import Final

from hashrange.api.faults import operations
from hashrange.api.faults.operations import FaultCalls
from hashrange.api.operation import Operation, Route, Service
from hashrange.injection.store import FaultStore

_FAULTS: Final = "/_hashrange/faults"


def operator_service(faults: FaultStore | None) -> Service:
    """Return the service; without fault injection, its operations refuse to work."""
    calls = FaultCalls(faults)
    return Service(
        "hashrange",
        (
            Operation("PutFaults", operations.PUT, calls.put, Route("PUT", _FAULTS)),
            Operation("GetFaults", operations.NONE, calls.get, Route("GET", _FAULTS)),
            Operation("DeleteFaults", operations.NONE, calls.delete, Route("DELETE", _FAULTS)),
        ),
        signing_name="hashrange",
        protocol="rest-json",
    )
