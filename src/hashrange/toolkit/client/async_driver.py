"""Runs plans with awaited calls, on clients of aiobotocore (or anything with the same methods).

Concurrency of `Together` is tasks. A plan that fails cancels the others of its group.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar, final

from hashrange.toolkit.client.pages import Page, PageWalk, Source, item_walk_bounds, walk
from hashrange.toolkit.client.plans import Call, Invoke, Pause, Plan, Request

Result = TypeVar("Result")
Content = TypeVar("Content")


@final
class AsyncDriver:
    """Carries out calls on aiobotocore clients, by the name of their service."""

    def __init__(
        self,
        client: Any,
        others: Mapping[str, Any] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.client = client
        self._clients = {"dynamodb": client, **(others or {})}
        self._sleep = sleep

    async def run(self, plan: Plan[Result]) -> Result:
        """Run a plan to its end and return its result."""
        try:
            request = next(plan)
            while True:
                try:
                    answer = await self._answer(request)
                except BaseException as error:  # noqa: BLE001 - the plan decides what it means
                    request = plan.throw(error)
                else:
                    request = plan.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result

    async def _answer(self, request: Request) -> Any:
        if isinstance(request, Call):
            client = self._clients.get(request.service)
            if client is None:
                raise LookupError(f"this needs a client for {request.service}")
            answer = await getattr(client, request.method)(**request.parameters)
            if "Body" in answer:  # of an object in S3
                answer["Body"] = await answer["Body"].read()
            return answer
        if isinstance(request, Pause):
            return await self._sleep(request.seconds)
        if isinstance(request, Invoke):
            answer = request.function(*request.arguments)
            return await answer if inspect.isawaitable(answer) else answer
        return await self._together(request.plans, request.width)

    async def _together(self, plans: Any, width: int) -> list[Any]:
        room = asyncio.Semaphore(width)

        async def bounded(plan: Plan[Any]) -> Any:
            async with room:
                return await self.run(plan)

        tasks = [asyncio.ensure_future(bounded(plan)) for plan in plans]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()


@final
class AsyncPages(Generic[Content]):
    """The items of a query or scan: iterate with `async for`, or take them page by page."""

    def __init__(
        self, driver: AsyncDriver, source: Source[Content], limit: int | None = None
    ) -> None:
        self._driver = driver
        self._source = source
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[Content]:
        left = self._limit
        steps = walk(self._source, *item_walk_bounds(self._source, self._limit))
        async for page in self._run_walk(steps):
            for item in page.items[:left]:
                yield item
            left = None if left is None else left - len(page.items)
            if left is not None and left <= 0:
                return

    async def pages(self, size: int | None = None) -> AsyncIterator[Page[Content]]:
        """Iterate over pages of a size, or as the service cuts them."""
        async for page in self._run_walk(walk(self._source, size, self._limit)):
            yield page

    async def _run_walk(self, steps: PageWalk[Content]) -> AsyncIterator[Page[Content]]:
        try:
            plan = next(steps)
            while True:
                page = await self._driver.run(plan)
                yield page
                plan = steps.send(page)
        except StopIteration:
            return

    async def page(self, cursor: str | None = None, size: int | None = None) -> Page[Content]:
        """Return one page: the first, or the one after a cursor."""
        return await self._driver.run(self._source.page(cursor, size or self._limit))

    async def first(self) -> Content | None:
        """Return the first item, or None if there is none."""
        async for item in AsyncPages(self._driver, self._source, 1):
            return item
        return None

    async def all(self) -> list[Content]:
        """Return all items in a list."""
        return [item async for item in self]
