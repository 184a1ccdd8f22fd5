"""Registering functions: PutFunction, GetFunction, ListFunctions and DeleteFunction.

These calls are not part of AWS's API. A client that may register a function can run any program
as the server's user, so this is forbidden unless the settings allow it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from typing import Any, Final, final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.shapes.scalars import Number, String
from hashrange.api.shapes.structures import MapOf, Structure
from hashrange.errors import (
    AccessDeniedException,
    InvalidParameterValueException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from hashrange.model.triggers import KINDS, FunctionRecord, function_arn
from hashrange.storage.triggers import TriggerStore

TIMEOUT_SECONDS_MAX: Final = 900
CONCURRENCY_MAX: Final = 64

_NAME: Final = String(minimum=1, maximum=140)
PUT: Final = Structure(
    "PutFunctionRequest",
    {
        "Name": _NAME,
        "Kind": String(enum=KINDS),
        "Target": String(minimum=1, maximum=4096),
        "Directory": String(minimum=1, maximum=4096),
        "Environment": MapOf(String()),
        "TimeoutSeconds": Number("Integer", minimum=1, maximum=TIMEOUT_SECONDS_MAX),
        "Concurrency": Number("Integer", minimum=1, maximum=CONCURRENCY_MAX),
    },
    required=("Name", "Kind", "Target"),
)
ONE: Final = Structure("FunctionRequest", {"Name": _NAME}, required=("Name",))
LIST: Final = Structure("ListFunctionsRequest", {})

_NAMES: Final = re.compile(r"[a-zA-Z0-9-_]{1,140}")
_PYTHON: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_URL: Final = re.compile(r"https?://[^/\s]+[^\s]*")
# Member of a request, and the field of a function it becomes.
_FIELDS: Final = {
    "Kind": "kind",
    "Target": "target",
    "Directory": "directory",
    "Environment": "environment",
    "TimeoutSeconds": "timeout_seconds",
    "Concurrency": "concurrency",
}


def make_function(name: str, members: dict[str, Any], now: float) -> FunctionRecord:
    """Return the function that some members describe, checked."""
    if not _NAMES.fullmatch(name):
        raise InvalidParameterValueException(
            f"The name of a function has letters, digits, - and _, not {name!r}."
        )
    kind, target = members["Kind"], members["Target"]
    if kind == "python" and not _PYTHON.fullmatch(target):
        raise InvalidParameterValueException(f"A Python target is module:function, not {target!r}.")
    if kind == "http" and not _URL.fullmatch(target):
        raise InvalidParameterValueException(f"{target!r} is not an http or https URL.")
    if kind == "command":
        _check_command(target)
    values = {field: members[member] for member, field in _FIELDS.items() if member in members}
    return FunctionRecord(name, **values, modified_at=now)


def _check_command(target: str) -> None:
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise InvalidParameterValueException(f"{target!r} is not a command: {error}.") from error
    if not words:
        raise InvalidParameterValueException("A command has at least one word.")


@final
class FunctionCalls:
    """The calls; one object for all accounts and regions."""

    def __init__(self, store: TriggerStore, *, is_allowed: bool) -> None:
        self._store = store
        self._is_allowed = is_allowed

    async def put(self, scope: RequestScope, request: Request) -> Response:
        """Register a function, in place of one with the same name."""
        context = scope.context
        self._check_allowed(request["Name"])
        function = make_function(request["Name"], request, context.clock.now())
        world = (context.account, context.region)
        scope.touch(function_arn(world, function.name))
        await self._store.put_function(world, function)
        return self._describe(context, function)

    async def get(self, scope: RequestScope, request: Request) -> Response:
        """Describe a function."""
        context = scope.context
        world = (context.account, context.region)
        function = await self._store.function(world, request["Name"])
        if function is None:
            raise _not_found(request["Name"])
        scope.touch(function_arn(world, function.name))
        return self._describe(context, function)

    async def list(self, scope: RequestScope, request: Request) -> Response:
        """Describe all functions."""
        context = scope.context
        found = await self._store.functions((context.account, context.region))
        return {"Functions": [self._describe(context, function) for function in found]}

    async def delete(self, scope: RequestScope, request: Request) -> Response:
        """Forget a function; mappings of it wait until it is registered again."""
        context = scope.context
        name = request["Name"]
        self._check_allowed(name)
        world = (context.account, context.region)
        scope.touch(function_arn(world, name))
        if not await self._store.delete_function(world, name):
            raise _not_found(name)
        return {}

    def _describe(self, context: Context, function: FunctionRecord) -> Response:
        fields = asdict(function)
        response: Response = {
            "Name": function.name,
            "Arn": function_arn((context.account, context.region), function.name),
        }
        response |= {member: fields[field] for member, field in _FIELDS.items()}
        # Environment variables may hold secrets.
        response["Environment"] = sorted(function.environment)
        response["IsConfigured"] = function is self._store.configured.get(function.name)
        return response

    def _check_allowed(self, name: str) -> None:
        if not self._is_allowed:
            raise AccessDeniedException(
                "This server registers no functions by request, because a function runs programs "
                "as the server's user. Start it with --allow-functions, or define the function in "
                "its settings file."
            )
        if name in self._store.configured:
            raise ResourceInUseException(
                f"Function {name} is defined by the settings of the server; change it there."
            )


def _not_found(name: str) -> ResourceNotFoundException:
    return ResourceNotFoundException(f"Function not found: {name}")
