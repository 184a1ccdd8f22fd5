"""Who may register functions and name files: nobody, on a server that is open to all."""

import asyncio

import pytest

from hashrange.api.operation import Context
from hashrange.api.triggers.event_sources import check_options
from hashrange.api.triggers.functions import FunctionCalls
from hashrange.clock import VirtualClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.errors import (
    AccessDeniedException,
    InvalidParameterValueException,
    ResourceInUseException,
)
from hashrange.keyring.table_keys import TableKeys
from hashrange.model.triggers import FunctionRecord
from hashrange.storage.catalog import Catalog
from hashrange.storage.triggers import TriggerStore
from tests.harness.calls import scope_in
from tests.harness.identities import key_store

REQUEST = {"Name": "f", "Kind": "command", "Target": "true"}


@pytest.fixture
def engine():
    return MemoryEngine()


@pytest.fixture
def scope(engine):
    clock = VirtualClock()
    catalog = Catalog(engine, clock)
    return scope_in(
        Context(
            "000000000000",
            "us-east-1",
            catalog=catalog,
            engine=engine,
            clock=clock,
            table_keys=TableKeys(key_store(engine), clock),
        )
    )


def test_an_open_server_registers_no_functions_by_request(engine, scope):
    calls = FunctionCalls(TriggerStore(engine), is_allowed=False)
    for call in (calls.put, calls.delete):
        with pytest.raises(AccessDeniedException):
            asyncio.run(call(scope, REQUEST))


def test_an_open_server_writes_no_files_named_by_requests():
    request = {"DestinationConfig": {"OnFailure": {"Destination": "file:///tmp/x"}}}
    check_options(request, files_allowed=True)
    with pytest.raises(InvalidParameterValueException):
        check_options(request, files_allowed=False)


def test_functions_of_the_settings_are_changed_there_only(engine, scope):
    store = TriggerStore(engine, [FunctionRecord("f", "command", "true")])
    calls = FunctionCalls(store, is_allowed=True)
    (listed,) = asyncio.run(calls.list(scope, {}))["Functions"]
    assert listed["IsConfigured"]
    for call in (calls.put, calls.delete):
        with pytest.raises(ResourceInUseException):
            asyncio.run(call(scope, REQUEST))
