"""What an operation is, and the context its handler receives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.model.schema import Table
from hashrange.storage.catalog import Catalog

Request = dict[str, Any]
Response = dict[str, Any]


@final
class Context:
    """The world a request acts in: one account, one region, and the server behind them.

    Shared by all requests of that account and region; holds nothing of a single request.
    `address` is where the server is reached, host and port; empty when it has no socket.
    """

    __slots__ = ("account", "address", "catalog", "clock", "engine", "region")

    def __init__(
        self,
        account: str,
        region: str,
        *,
        catalog: Catalog,
        engine: Engine,
        clock: Clock,
        address: str = "",
    ) -> None:
        self.account = account
        self.region = region
        self.catalog = catalog
        self.engine = engine
        self.clock = clock
        self.address = address

    def known_table(self, name: str) -> Table | None:
        """Return an active table if it was used since the catalog last changed."""
        return self.catalog.known_table(self.account, self.region, name)

    async def table(self, name: str) -> Table:
        """Return an active table by its name or ARN."""
        return await self.catalog.table(self.account, self.region, name)


Handler = Callable[[Context, Request], Awaitable[Response]]
"""May change the request, and let go of what it no longer needs of it."""


class RequestShape(Protocol):
    """What may be in a request; see `shapes.Structure`."""

    @property
    def members(self) -> Mapping[str, object]: ...

    def check(self, request: Request) -> None: ...

    def check_values(self, request: Request) -> None: ...


@final
class Operation:
    """One API operation: its name, the shape of its request, and what it does.

    `empty_body` is the body of an answer that says nothing.
    """

    __slots__ = ("empty_body", "handler", "name", "shape")

    def __init__(
        self, name: str, shape: RequestShape, handler: Handler, *, empty_body: bytes = b"{}"
    ) -> None:
        self.name = name
        self.shape = shape
        self.handler = handler
        self.empty_body = empty_body
