"""Pages and cursors: results that arrive in pieces, from one source or from several merged.

A cursor is an opaque text that stands for the position after an item. It holds keys, unsigned and
readable: do not show it to people who must not see these keys.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from hashrange.toolkit.client.plans import Plan, Together
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.values import Item, from_wire

Content = TypeVar("Content")
Runner = Callable[[Plan[Any]], Any]

Position = Item | None
"""The ExclusiveStartKey of a source; None before its first item."""


@final
@dataclass(frozen=True)
class Page(Generic[Content]):
    """Some items, and the cursor of what follows; None at the end.

    `examined` counts the items that were read, before filters. `read_units` is the consumed
    capacity, if the call asked for it.
    """

    items: Sequence[Content]
    cursor: str | None
    examined: int = 0
    read_units: float = 0.0

    def __iter__(self) -> Iterator[Content]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@final
@dataclass(frozen=True)
class RawPage:
    """What one call returned: items in API form and where the next one starts."""

    items: Sequence[Item]
    next: Position
    examined: int
    read_units: float = 0.0


Fetch = Callable[[Position, int | None], Plan[RawPage]]
"""Makes the plan that reads from a position, at most so many items."""


@final
@dataclass(frozen=True)
class _Part:
    """What one stage gave: items, and the position of each of its fetches; None at its end."""

    items: Sequence[Item]
    after: list[Any] | None
    examined: int
    read_units: float


@final
@dataclass(frozen=True)
class Source(Generic[Content]):
    """Where pages come from: stages read one after the other, each of one or more fetches.

    The items of several fetches in one stage (shards) are merged by the attribute `order`. Stages
    (time buckets) follow each other. `key_names` are the attributes of an item that make up its
    position.
    """

    stages: Sequence[Sequence[Fetch]]
    decode: Callable[[Item], Content]
    key_names: tuple[str, ...] = ()
    order: str = ""
    newest_first: bool = False
    is_filtered: bool = False

    def page(self, cursor: str | None, size: int | None) -> Plan[Page[Content]]:
        """Read a page: up to `size` items, or what one call returns.

        A page goes on into the next stage while it is empty, or not full and a size was given.
        """
        stage, positions = _decode_cursor(cursor)
        items: list[Item] = []
        examined, units = 0, 0.0
        following: str | None = None
        while stage < len(self.stages):
            wanted = None if size is None else size - len(items)
            part = yield from self._read(stage, positions, wanted)
            items += part.items
            examined += part.examined
            units += part.read_units
            if part.after is None:
                stage, positions = stage + 1, None
            else:
                positions = part.after
            if part.after is not None or (items and (size is None or len(items) >= size)):
                following = encode_cursor(stage, positions) if stage < len(self.stages) else None
                break
        return Page([self.decode(item) for item in items], following, examined, units)

    def _read(self, stage: int, positions: list[Any] | None, size: int | None) -> Plan[_Part]:
        fetches = self.stages[stage]
        starts = positions or [None] * len(fetches)
        if len(starts) != len(fetches):
            raise DesignError("this cursor belongs to another access pattern")
        if len(fetches) > 1:
            return (yield from self._merged(fetches, starts, size))
        raw = yield from fetches[0](starts[0], size)
        after = [raw.next] if raw.next else None
        return _Part(raw.items, after, raw.examined, raw.read_units)

    def _merged(self, fetches: Sequence[Fetch], starts: list[Any], size: int | None) -> Plan[_Part]:
        """Read from every fetch that is not at its end, and take the first items of all.

        A fetch whose page ended early bounds what may be taken: beyond its last item, items could
        follow that belong in between.
        """
        alive = [at for at, start in enumerate(starts) if start != _ENDED]
        raws: list[RawPage] = yield Together([fetches[at](starts[at], size) for at in alive])
        queues = {at: list(raw.items) for at, raw in zip(alive, raws, strict=True)}
        following = {at: raw.next for at, raw in zip(alive, raws, strict=True)}
        taken: list[Item] = []
        after = list(starts)
        while size is None or len(taken) < size:
            is_blocked = any(not queues[at] and following[at] is not None for at in alive)
            if is_blocked or not any(queues.values()):
                break
            pick = self._first(queues)
            item = queues[pick].pop(0)
            taken.append(item)
            after[pick] = {name: item[name] for name in self.key_names}
        for at in alive:
            if not queues[at]:
                after[at] = _ENDED if following[at] is None else following[at]
        is_over = all(each == _ENDED for each in after)
        examined = sum(raw.examined for raw in raws)
        units = sum(raw.read_units for raw in raws)
        return _Part(taken, None if is_over else after, examined, units)

    def _first(self, queues: Mapping[int, list[Item]]) -> int:
        ready = [at for at, queue in queues.items() if queue]
        if not self.order:
            return ready[0]
        choose = max if self.newest_first else min
        return choose(ready, key=lambda at: from_wire(queues[at][0][self.order]))


_ENDED: Any = "end"
_FILTERED_PAGE_MIN = 100


def walk(source: Source[Content], size: int | None, limit: int | None) -> PageWalk[Content]:
    """Yield plans, page after page; the result of each must be sent back."""
    cursor: str | None = None
    left = limit
    while left is None or left > 0:
        wanted = size if left is None else left if size is None else min(size, left)
        page = yield source.page(cursor, wanted)
        cursor = page.cursor
        if left is not None:
            left -= len(page.items)
        if cursor is None:
            return


def item_walk_bounds(source: Source[Any], limit: int | None) -> tuple[int | None, int | None]:
    """Return page size and limit for a walk whose items are counted by the caller.

    With a filter, a page as small as the limit could mean a request per item examined.
    """
    if limit is None or not source.is_filtered:
        return None, limit
    return max(limit, _FILTERED_PAGE_MIN), None


PageWalk = Generator[Plan[Page[Content]], Page[Content], None]


@final
class Pages(Generic[Content]):
    """The items of a query or scan: iterate over them, or take them page by page.

    Every iteration starts anew. `limit` bounds the items of an iteration and is the size of a
    page; without it, pages are as large as the service makes them.
    """

    def __init__(self, run: Runner, source: Source[Content], limit: int | None = None) -> None:
        self._run = run
        self._source = source
        self._limit = limit

    def __iter__(self) -> Iterator[Content]:
        steps = walk(self._source, *item_walk_bounds(self._source, self._limit))
        items = (item for page in self._run_walk(steps) for item in page.items)
        return itertools.islice(items, self._limit)

    def pages(self, size: int | None = None) -> Iterator[Page[Content]]:
        """Iterate over pages of a size, or as the service cuts them."""
        return self._run_walk(walk(self._source, size, self._limit))

    def _run_walk(self, steps: PageWalk[Content]) -> Iterator[Page[Content]]:
        try:
            plan = next(steps)
            while True:
                page: Page[Content] = self._run(plan)
                yield page
                plan = steps.send(page)
        except StopIteration:
            return

    def page(self, cursor: str | None = None, size: int | None = None) -> Page[Content]:
        """Return one page: the first, or the one after a cursor."""
        page: Page[Content] = self._run(self._source.page(cursor, size or self._limit))
        return page

    def first(self) -> Content | None:
        """Return the first item, or None if there is none."""
        return next(iter(Pages(self._run, self._source, 1)), None)

    def all(self) -> list[Content]:
        """Return all items in a list."""
        return list(self)


def encode_cursor(stage: int, positions: Sequence[Any] | None) -> str:
    """Return a position as a text that is safe in URLs."""
    keys = [_jsonable(each) if isinstance(each, dict) else each for each in positions or ()]
    text = json.dumps([stage, keys], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_cursor(cursor: str | None) -> tuple[int, list[Any] | None]:
    if cursor is None:
        return 0, None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        stage, keys = json.loads(base64.urlsafe_b64decode(padded))
        positions = [_wire(each) if isinstance(each, dict) else each for each in keys]
        return int(stage), positions or None
    except (binascii.Error, ValueError, TypeError, AttributeError) as error:
        raise DesignError("this cursor is damaged") from error


def _jsonable(key: Item) -> dict[str, Any]:
    return {
        name: {kind: base64.b64encode(content).decode() if kind == "B" else content}
        for name, value in key.items()
        for kind, content in value.items()
    }


def _wire(key: dict[str, Any]) -> Item:
    return {
        name: {kind: base64.b64decode(content) if kind == "B" else content}
        for name, value in key.items()
        for kind, content in value.items()
    }
