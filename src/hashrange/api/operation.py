"""Operations and services of the API, and the context that handlers work in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.errors import StaleVersionError
from hashrange.keyring.table_keys import TableKeys
from hashrange.model.schema import Table
from hashrange.storage.catalog import Catalog

if TYPE_CHECKING:
    from hashrange.api.scope import RequestScope

Request = dict[str, Any]
Response = dict[str, Any]

_STALE_ATTEMPTS_MAX: Final = 1000
_STALE_PAUSE_SECONDS: Final = 0.002


@final
class Context:
    """The environment of a request: its account, its region, and the server.

    Shared by all requests of that account and region; holds nothing of a single request.
    `address` is where the server is reached, host and port; empty when it has no socket.
    """

    __slots__ = ("account", "address", "catalog", "clock", "engine", "region", "table_keys")

    def __init__(
        self,
        account: str,
        region: str,
        *,
        catalog: Catalog,
        engine: Engine,
        clock: Clock,
        table_keys: TableKeys,
        address: str = "",
    ) -> None:
        self.account = account
        self.region = region
        self.catalog = catalog
        self.engine = engine
        self.clock = clock
        self.table_keys = table_keys
        self.address = address

    def known_table(self, name: str) -> Table | None:
        """Return an active table if it was used since the catalog last changed."""
        return self.catalog.known_table(self.account, self.region, name)

    async def table(self, name: str) -> Table:
        """Return an active table by its name or ARN."""
        return await self.catalog.table(self.account, self.region, name)


Handler = Callable[["RequestScope", Request], Awaitable[Response]]
"""Carries out a request and leaves it unchanged, since it may be carried out again."""


class RequestShape(Protocol):
    """The members a request may have; see `shapes.Structure`."""

    @property
    def members(self) -> Mapping[str, object]: ...

    def check(self, request: Request) -> None: ...

    def check_values(self, request: Request) -> None: ...


@final
class Route:
    """Where a REST operation is found: `{name}` in the path is a member of the request."""

    __slots__ = ("method", "path", "status")

    def __init__(self, method: str, path: str, status: int = 200) -> None:
        self.method = method
        self.path = path
        self.status = status


@final
class Operation:
    """One API operation: its name, the shape of its request, its handler, and its service.

    The service that lists the operation sets `service`. `run` carries out a request; for operations
    that write, again if the catalog changed under it. `is_read` marks operations that never write.
    `empty_body` is the body of an answer that says nothing. `load` brings shape and handler when
    the operation is first used, see `deferred`.
    """

    __slots__ = (
        "_handler",
        "_load",
        "_shape",
        "check",
        "check_values",
        "empty_body",
        "name",
        "route",
        "run",
        "service",
    )

    service: Service

    def __init__(
        self,
        name: str,
        shape: RequestShape | None,
        handler: Handler,
        route: Route | None = None,
        *,
        is_read: bool = False,
        empty_body: bytes = b"{}",
        load: Callable[[], Operation] | None = None,
    ) -> None:
        self.name = name
        self.route = route
        self.empty_body = empty_body
        self._load = load
        self._shape = shape
        self._handler = handler
        self.check: Callable[[Request], None] = self._check_first
        self.check_values: Callable[[Request], None] = self._check_values_first
        if shape is not None:
            self.check = shape.check
            self.check_values = shape.check_values
        self.run = handler if is_read else self._run_safely

    @property
    def shape(self) -> RequestShape:
        """The shape of its request."""
        if self._shape is None:
            assert self._load is not None, "an operation has a shape or loads it"
            loaded = self._load()
            self._shape = loaded.shape
            self.check, self.check_values = loaded.check, loaded.check_values
            self._handler = loaded._handler
            self.run = loaded.run
            self.empty_body = loaded.empty_body
        return self._shape

    def _check_first(self, request: Request) -> None:
        self.shape.check(request)

    def _check_values_first(self, request: Request) -> None:
        self.shape.check_values(request)

    async def _run_safely(self, scope: RequestScope, request: Request) -> Response:
        """Carry out a request; repeat it if the catalog changed in the meantime."""
        try:
            return await self._handler(scope, request)
        except StaleVersionError:
            return await self._run_again(scope, request)

    async def _run_again(self, scope: RequestScope, request: Request) -> Response:
        """Repeat a request whose write was refused because a table changed meanwhile.

        The change may still be on its way to disk, so this pauses between attempts.
        """
        for _ in range(_STALE_ATTEMPTS_MAX):
            scope.forget_attempt()
            try:
                return await self._handler(scope, request)
            except StaleVersionError:
                await asyncio.sleep(_STALE_PAUSE_SECONDS)
        scope.forget_attempt()
        return await self._handler(scope, request)


def deferred(module: str, *names: str) -> list[Operation]:
    """Return operations that are loaded from a module's `OPERATIONS` when they are first used.

    Most servers never use most operations: this way they cost no time at the start.
    """
    return [Operation(name, None, _never_run, load=partial(_load, module, name)) for name in names]


def _load(module: str, name: str) -> Operation:
    operations: Iterable[Operation] = import_module(module).OPERATIONS
    return next(operation for operation in operations if operation.name == name)


async def _never_run(scope: RequestScope, request: Request) -> Response:
    raise AssertionError("an operation is checked, and so loaded, before it runs")


@final
class Service:
    """A service: its names, the protocol it speaks, and its operations.

    `target_prefix` stands before the operation's name in the header `X-Amz-Target` of services that
    speak "json"; services that speak "rest-json" give each operation a route instead.
    """

    __slots__ = ("name", "operations", "protocol", "signing_name", "target_prefix")

    def __init__(
        self,
        name: str,
        operations: Iterable[Operation],
        *,
        signing_name: str,
        protocol: Literal["json", "rest-json"] = "json",
        target_prefix: str = "",
    ) -> None:
        self.name = name
        self.signing_name = signing_name
        self.protocol = protocol
        self.target_prefix = target_prefix
        self.operations = {operation.name: operation for operation in operations}
        for operation in self.operations.values():
            operation.service = self
