"""The paths of triggers: Lambda's for mappings, this server's own for functions."""

from __future__ import annotations

from typing import Final

from hashrange.api.operation import Operation
from hashrange.api.triggers import event_sources, functions
from hashrange.api.triggers.event_sources import EventSources
from hashrange.api.triggers.functions import FunctionCalls
from hashrange.storage.triggers import TriggerStore
from hashrange.wire.protocols.rest_json import Route

_MAPPINGS: Final = "/2015-03-31/event-source-mappings"
_MAPPING: Final = _MAPPINGS + "/{UUID}"
_FUNCTIONS: Final = "/_hashrange/functions"
_FUNCTION: Final = _FUNCTIONS + "/{Name}"


def trigger_routes(store: TriggerStore, *, is_private: bool) -> list[Route]:
    """Return the routes; `is_private` when only this machine or key holders can use them."""
    mappings = EventSources(store, files_allowed=is_private)
    calls = FunctionCalls(store, is_allowed=is_private)
    create = Operation("CreateEventSourceMapping", event_sources.CREATE, mappings.create)
    listing = Operation("ListEventSourceMappings", event_sources.LIST, mappings.list)
    get = Operation("GetEventSourceMapping", event_sources.ONE, mappings.get)
    update = Operation("UpdateEventSourceMapping", event_sources.UPDATE, mappings.update)
    delete = Operation("DeleteEventSourceMapping", event_sources.ONE, mappings.delete)
    return [
        Route("POST", _MAPPINGS, create, 202),
        Route("GET", _MAPPINGS, listing),
        Route("GET", _MAPPING, get),
        Route("PUT", _MAPPING, update, 202),
        Route("DELETE", _MAPPING, delete, 202),
        Route("GET", _FUNCTIONS, Operation("ListFunctions", functions.LIST, calls.list)),
        Route("GET", _FUNCTION, Operation("GetFunction", functions.ONE, calls.get)),
        Route("PUT", _FUNCTION, Operation("PutFunction", functions.PUT, calls.put)),
        Route("DELETE", _FUNCTION, Operation("DeleteFunction", functions.ONE, calls.delete)),
    ]
