"""Turns a call of an access pattern into a plan or a source of pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, final

from hashrange.toolkit.client import batches, operations
from hashrange.toolkit.client.operations import AttributeCodec, TableContext
from hashrange.toolkit.client.pages import Source
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy
from hashrange.toolkit.client.transactions import transact_get
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.execution.items import (
    entity_of,
    fields_of_item,
    key_of,
    load,
    stored_item,
)
from hashrange.toolkit.execution.reads import query_source, scan_source
from hashrange.toolkit.execution.transactions import transaction_of
from hashrange.toolkit.execution.uniqueness import is_guard
from hashrange.toolkit.execution.writes import Write

Arguments = Mapping[str, Any]
READ_OPTIONS: Final = frozenset({"limit", "consistent", "newest_first"})


def utc_now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


@final
@dataclass(frozen=True)
class Binding:
    """How a design meets a service.

    `names` maps the tables of the design to what the service calls them. `codecs` maps names of
    entities to what their attributes go through. `clock` tells the time for timestamps and expiry.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    policy: RetryPolicy = DEFAULT_POLICY
    floats: bool = False
    codecs: Mapping[str, tuple[AttributeCodec, ...]] = field(default_factory=dict)
    clock: Callable[[], datetime] = utc_now


@final
class Executor:
    """Makes plans for the access patterns of a design."""

    def __init__(self, design: Design, binding: Binding) -> None:
        self.design = design
        self.binding = binding

    def arguments(
        self, pattern: AccessPattern, positional: tuple[Any, ...], named: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments of a call by name, checked against the pattern's parameters."""
        parameters = self.design.parameters_of(pattern)
        if len(positional) > len(parameters):
            raise DesignError(f"{pattern.name} takes {', '.join(parameters) or 'no arguments'}")
        arguments = dict(zip(parameters, positional, strict=False))
        twice = arguments.keys() & named.keys()
        if twice:
            raise DesignError(f"{pattern.name} was given {', '.join(sorted(twice))} twice")
        written = () if pattern.is_read else pattern.expression_parameters
        arguments.update(
            {name: each for name, each in named.items() if each is not None or name in written}
        )
        allowed = {*parameters, *self._options(pattern)}
        unknown = [name for name in arguments if name not in allowed]
        if unknown:
            raise DesignError(
                f"{pattern.name} has no parameter {', '.join(unknown)}: "
                f"it takes {', '.join(parameters) or 'none'}"
            )
        return arguments

    def _options(self, pattern: AccessPattern) -> set[str]:
        if pattern.is_read:
            return set(READ_OPTIONS)
        if pattern.operation == "transact_write":
            return {"token"}
        names = {self.design.entity(name).version for name in pattern.entities}
        return {*names, *pattern.expression_parameters}

    def is_paged(self, pattern: AccessPattern) -> bool:
        """Tell whether a pattern gives pages; the others give one result."""
        return pattern.operation in ("query", "scan") and not pattern.single

    def source(self, pattern: AccessPattern, arguments: Arguments) -> Source[Any]:
        """Return the source of a pattern's pages."""
        context = self._context(pattern.table, *pattern.entities)
        decode = self._decoder(pattern)
        if pattern.operation == "scan":
            return scan_source(pattern, context, arguments, decode)
        return query_source(self.design, pattern, context, arguments, decode)

    def limit(self, pattern: AccessPattern, arguments: Arguments) -> int | None:
        """Return how many items are wanted."""
        wanted: int | None = arguments.get("limit", pattern.limit)
        return wanted

    def plan(self, pattern: AccessPattern, arguments: Arguments) -> Plan[Any]:
        """Return the plan of a pattern that gives one result."""
        if pattern.single:
            return self._single(pattern, arguments)
        if pattern.operation == "transact_write":
            return transaction_of(
                self.design,
                pattern,
                arguments,
                self._context,
                self.binding.clock(),
            )
        if pattern.operation == "transact_get":
            return self._transact_get(pattern, arguments)
        operation: Callable[[AccessPattern, Arguments], Plan[Any]] = {
            "get": self._get,
            "create": self._write,
            "put": self._write,
            "update": self._write,
            "delete": self._write,
            "batch_get": self._batch_get,
            "batch_write": self._batch_write,
        }[pattern.operation]
        return operation(pattern, arguments)

    def _single(self, pattern: AccessPattern, arguments: Arguments) -> Plan[Any]:
        source = self.source(pattern, arguments)
        size = None if pattern.filter else 1
        cursor = None
        while True:
            page = yield from source.page(cursor, size)
            cursor = page.cursor
            if page.items or cursor is None:
                return page.items[0] if page.items else None

    def _get(self, pattern: AccessPattern, arguments: Arguments) -> Plan[Any]:
        entity, table = self._target(pattern)
        item = yield from operations.get(
            self._context(table.name, entity.name),
            key_of(entity, table, arguments),
            consistent=bool(arguments.get("consistent", pattern.consistent)),
            projection=pattern.projection,
        )
        return None if item is None else self._decoder(pattern)(item)

    def _write(self, pattern: AccessPattern, arguments: Arguments) -> Plan[Any]:
        entity, table = self._target(pattern)
        context = self._context(table.name, entity.name)
        write = Write(context, table, entity, self.binding.clock())
        item: dict[str, Any] | None
        if pattern.operation == "create":
            item = yield from write.create(arguments["record"])
        elif pattern.operation == "put":
            item = yield from write.put(arguments["record"], pattern.condition, arguments)
        elif pattern.operation == "update":
            item = yield from write.update(pattern, arguments)
        else:
            item = yield from write.delete(pattern.condition, arguments)
        return None if item is None else load(entity, table, item)

    def _batch_get(self, pattern: AccessPattern, arguments: Arguments) -> Plan[list[Any]]:
        entity, table = self._target(pattern)
        items = yield from batches.batch_get(
            self._context(table.name, entity.name),
            [key_of(entity, table, fields) for fields in arguments["keys"]],
            consistent=bool(arguments.get("consistent", pattern.consistent)),
            projection=pattern.projection,
            width=4,
        )
        return [self._decoder(pattern)(item) for item in items]

    def _batch_write(self, pattern: AccessPattern, arguments: Arguments) -> Plan[int]:
        entity, table = self._target(pattern)
        if entity.unique or entity.version:
            raise DesignError(f"{entity.name} needs conditions, which a batch cannot have")
        now = self.binding.clock()
        items = (stored_item(entity, table, each, now) for each in arguments["records"])
        names = [key.name for key in table.key_attributes]
        return batches.batch_write(self._context(table.name, entity.name), items, (), names, 4)

    def _transact_get(self, pattern: AccessPattern, arguments: Arguments) -> Plan[list[Any]]:
        entities = [self.design.entity(step.entity) for step in pattern.steps]
        keys = []
        for step, entity in zip(pattern.steps, entities, strict=True):
            table = self.design.table(entity.table)
            renamed = {name: arguments[given] for name, given in step.rename.items()}
            keys.append((self.name_of(table), key_of(entity, table, {**arguments, **renamed})))
        items = yield from transact_get(keys, self.binding.policy)
        records: list[Any] = []
        for entity, item in zip(entities, items, strict=True):
            if item is None:
                records.append(None)
                continue
            plain = yield from self._context(entity.table, entity.name).decode(item)
            records.append(load(entity, self.design.table(entity.table), plain))
        return records

    def _target(self, pattern: AccessPattern) -> tuple[Entity[Any], Table]:
        entity = self.design.entity(pattern.entities[0])
        return entity, self.design.table(pattern.table)

    def _context(self, table: str, *entities: str) -> TableContext:
        codecs = {self.binding.codecs.get(name, ()) for name in entities}
        if len(codecs) > 1:
            raise DesignError(f"{', '.join(entities)} have different codecs, so read them apart")
        context = TableContext(
            self.name_of(self.design.table(table)), self.binding.policy, self.binding.floats
        )
        return replace(context, codecs=codecs.pop() if codecs else ())

    def name_of(self, table: Table) -> str:
        """Return what the service calls a table of the design."""
        return self.binding.names.get(table.name, table.name)

    def _decoder(self, pattern: AccessPattern) -> Callable[[Mapping[str, Any]], Any]:
        """Return how the items of a pattern become records.

        Items that lack attributes, because of a projection in the pattern or in the index, are
        returned as mappings of what there is.
        """
        table = self.design.table(pattern.table)
        is_partial = bool(pattern.projection) or (
            bool(pattern.index) and table.index(pattern.index).projection != "ALL"
        )

        wanted = {re.split(r"[.\[]", path, maxsplit=1)[0] for path in pattern.projection}

        def decode(item: Mapping[str, Any]) -> Any:
            entity = entity_of(self.design, table, item)
            if pattern.projection:
                return {name: value for name, value in item.items() if name in wanted}
            if entity is None or is_guard(table, item):
                return dict(item)
            if is_partial:
                return fields_of_item(entity, table, item)
            return load(entity, table, item)

        return decode
