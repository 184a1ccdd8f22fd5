"""A design with a service behind it: its access patterns become methods.

    shop = BoundDesign(design, boto3.client("dynamodb"))
    shop.create_tables()
    shop.user_orders(user_id="7", limit=20)

Queries and scans return `Pages` (iterate, or take pages by cursor), unless the pattern is `single`.
Gets return a record or None, writes the record as it is now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.pages import Pages
from hashrange.toolkit.client.plans import Call, Pause, Plan
from hashrange.toolkit.client.retries import RetryPolicy, attempt
from hashrange.toolkit.client.tables import TableClient
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.provisioning import create_table_document, settings_calls
from hashrange.toolkit.errors import DesignError, RequestRefused, Unavailable
from hashrange.toolkit.execution.executor import Binding, Executor

_POLLS_MAX: Final = 600
_POLL_SECONDS: Final = 0.5
_NO_BINDING: Final = Binding()


@final
class BoundDesign:
    """The access patterns of a design as methods, on a boto3 client or resource."""

    def __init__(self, design: Design, client: Any, binding: Binding = _NO_BINDING) -> None:
        self.design = design
        self.driver = client if isinstance(client, SyncDriver) else SyncDriver(client)
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

        call.__name__ = name
        call.__doc__ = pattern.description or None
        return call

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(pattern.name for pattern in self.design.patterns)]

    def call(
        self, pattern: AccessPattern, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Carry out an access pattern."""
        arguments = self.executor.arguments(pattern, positional, named)
        if self.executor.is_paged(pattern):
            source = self.executor.source(pattern, arguments)
            return Pages(self.driver.run, source, self.executor.limit(pattern, arguments))
        return self.driver.run(self.executor.plan(pattern, arguments))

    def table(self, name: str = "") -> TableClient:
        """Return the client of a table of the design; the name may be left out if there is one."""
        table = self.design.table(name or self.design.tables[0].name)
        binding = self.executor.binding
        return TableClient(
            self.driver,
            self.executor.name_of(table),
            policy=binding.policy,
            floats=binding.floats,
        )

    def create_tables(self) -> tuple[str, ...]:
        """Create the tables that do not exist yet, with their settings, and wait for them.

        Returns a sentence for each setting the service does not know, as local ones may not.
        """
        return self.driver.run(create_tables(self.executor))


def create_tables(executor: Executor) -> Plan[tuple[str, ...]]:
    """Create the tables of a design that do not exist yet, and wait until they can be used."""
    policy = executor.binding.policy
    created = []
    unknown: list[str] = []
    for table in executor.design.tables:
        name = executor.name_of(table)
        document = create_table_document(table, name=name)
        try:
            yield from attempt(Call("create_table", document, repeatable=False), policy)
            created.append((table, name))
        except RequestRefused as error:
            if error.code != "ResourceInUseException":
                raise
    for table, name in created:
        yield from wait_until_active(name, policy)
        for method, parameters in settings_calls(table, name=name):
            try:
                yield from attempt(Call(method, parameters), policy)
            except RequestRefused as error:
                if error.code != "UnknownOperationException":
                    raise
                unknown.append(f"{name}: the service does not know {method}")
    return tuple(unknown)


def wait_until_active(name: str, policy: RetryPolicy) -> Plan[None]:
    """Wait until a table and its indexes can be used."""
    for _ in range(_POLLS_MAX):
        try:
            answer = yield from attempt(Call("describe_table", {"TableName": name}), policy)
        except RequestRefused as error:
            if error.code != "ResourceNotFoundException":
                raise
        else:
            table = answer["Table"]
            indexes = table.get("GlobalSecondaryIndexes", [])
            states = {table["TableStatus"], *(index["IndexStatus"] for index in indexes)}
            if states == {"ACTIVE"}:
                return
        yield Pause(_POLL_SECONDS)
    raise Unavailable(f"table {name} did not become active")
