"""The service Lambda: event source mappings, and this server's own operations for functions."""

from __future__ import annotations

from typing import Final

from hashrange.api.operation import Operation, Route, Service
from hashrange.api.triggers import event_sources, functions
from hashrange.api.triggers.event_sources import EventSources
from hashrange.api.triggers.functions import FunctionCalls
from hashrange.storage.triggers import TriggerStore

_MAPPINGS: Final = "/2015-03-31/event-source-mappings"
_MAPPING: Final = _MAPPINGS + "/{UUID}"
_FUNCTIONS: Final = "/_hashrange/functions"
_FUNCTION: Final = _FUNCTIONS + "/{Name}"


def lambda_service(store: TriggerStore, *, functions_allowed: bool) -> Service:
    """Return the service; `functions_allowed` if requests may name programs and files."""
    mappings = EventSources(store, files_allowed=functions_allowed)
    calls = FunctionCalls(store, is_allowed=functions_allowed)
    return Service(
        "lambda",
        (
            Operation(
                "CreateEventSourceMapping",
                event_sources.CREATE,
                mappings.create,
                Route("POST", _MAPPINGS, 202),
            ),
            Operation(
                "ListEventSourceMappings",
                event_sources.LIST,
                mappings.list,
                Route("GET", _MAPPINGS),
            ),
            Operation(
                "GetEventSourceMapping", event_sources.ONE, mappings.get, Route("GET", _MAPPING)
            ),
            Operation(
                "UpdateEventSourceMapping",
                event_sources.UPDATE,
                mappings.update,
                Route("PUT", _MAPPING, 202),
            ),
            Operation(
                "DeleteEventSourceMapping",
                event_sources.ONE,
                mappings.delete,
                Route("DELETE", _MAPPING, 202),
            ),
            Operation("ListFunctions", functions.LIST, calls.list, Route("GET", _FUNCTIONS)),
            Operation("GetFunction", functions.ONE, calls.get, Route("GET", _FUNCTION)),
            Operation("PutFunction", functions.PUT, calls.put, Route("PUT", _FUNCTION)),
            Operation("DeleteFunction", functions.ONE, calls.delete, Route("DELETE", _FUNCTION)),
        ),
        signing_name="lambda",
        protocol="rest-json",
    )
