"""A design with an asynchronous service behind it.

    async with aiobotocore.session.get_session().create_client("dynamodb") as client:
        shop = AsyncBoundDesign(Shop.design, client)
        customer = await shop.customer(customer_id="7")
        async for order in shop.customer_orders(customer_id="7", limit=20): ...

For designs that are declared as classes, `run` and `pages` keep the types:

        order = await shop.run(Shop.last_order, "7")               # Order | None
        async for order in shop.pages(Shop.customer_orders, "7"): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, final

from hashrange.toolkit.bound import create_tables
from hashrange.toolkit.client.async_driver import AsyncDriver, AsyncPages
from hashrange.toolkit.client.async_tables import AsyncTableClient
from hashrange.toolkit.declarations import PagesPattern, ResultPattern
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.execution.executor import Binding, Executor

P = ParamSpec("P")
Result = TypeVar("Result")
_NO_BINDING: Final = Binding()


@final
class AsyncBoundDesign:
    """The access patterns of a design as awaited methods, on a client of aiobotocore."""

    def __init__(self, design: Design, client: Any, binding: Binding = _NO_BINDING) -> None:
        self.design = design
        self.driver = client if isinstance(client, AsyncDriver) else AsyncDriver(client)
        self.executor = Executor(design, binding)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            pattern = self.design.pattern(name)
        except DesignError as error:
            raise AttributeError(f"the design has no access pattern {name}") from error

        def call(*positional: Any, **named: Any) -> Any:
            return self.call(pattern, positional, named)

        return call

    def call(
        self, pattern: AccessPattern, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Return the pages of an access pattern, or an awaitable of its result."""
        arguments = self.executor.arguments(pattern, positional, named)
        if self.executor.is_paged(pattern):
            source = self.executor.source(pattern, arguments)
            return AsyncPages(self.driver, source, self.executor.limit(pattern, arguments))
        return self.driver.run(self.executor.plan(pattern, arguments))

    async def run(
        self, pattern: ResultPattern[P, Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Carry out a declared pattern with one result."""
        arguments = pattern.arguments(*args, **kwargs)
        result: Result = await self.call(self.design.pattern(pattern.name), (), arguments)
        return result

    def pages(
        self, pattern: PagesPattern[P, Result], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncPages[Result]:
        """Return the pages of a declared pattern."""
        arguments = pattern.arguments(*args, **kwargs)
        pages: AsyncPages[Result] = self.call(self.design.pattern(pattern.name), (), arguments)
        return pages

    def table(self, name: str = "") -> AsyncTableClient:
        """Return the client of a table of the design; the name may be left out if there is one."""
        table = self.design.table(name or self.design.tables[0].name)
        binding = self.executor.binding
        return AsyncTableClient(
            self.driver,
            self.executor.name_of(table),
            policy=binding.policy,
            floats=binding.floats,
        )

    async def create_tables(self) -> tuple[str, ...]:
        """Create the tables that do not exist yet; see BoundDesign."""
        return await self.driver.run(create_tables(self.executor))
