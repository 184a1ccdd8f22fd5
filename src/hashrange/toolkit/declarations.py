"""A design as a class, in which access patterns are typed methods.

    class Shop(DesignBase, style="single_table"):
        table = Table("Shop", "PK", "SK")
        customer = Entity("customer", {"PK": "CUSTOMER#{customer_id}", "SK": "PROFILE"}, Customer)
        order = Entity("order", {"PK": "CUSTOMER#{customer_id}", "SK": "ORDER#{order_id}"}, Order)

        @query(order, sort_key=begins_with("ORDER#"), newest_first=True)
        def customer_orders(self, customer_id: str, limit: int | None = None) -> None:
            \"\"\"The orders of a customer, newest first.\"\"\"

    Shop(boto3.client("dynamodb")).customer_orders("7", limit=20)     # Pages[Order]

The decorated function gives the pattern its name, description and parameters, so that type checkers
know them; it has no body. Its parameters are those of the access pattern and, for reads, the
options `limit`, `consistent` and `newest_first`. A function that takes others is refused when the
class is made. `Shop.design` is the design, for tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    final,
    overload,
)

from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.pages import Pages
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.expectations import Budget, Rate, Waiver
from hashrange.toolkit.design.model import Design, Style
from hashrange.toolkit.design.patterns import AccessPattern, Operation, SortCondition, Step
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.execution.executor import READ_OPTIONS, Binding

P = ParamSpec("P")
Result = TypeVar("Result")
First = TypeVar("First")
Second = TypeVar("Second")
Third = TypeVar("Third")

_NO_BINDING = Binding()


class Expected(TypedDict, total=False):
    """What is expected of a pattern; see AccessPattern."""

    rate: Rate
    budget: Budget
    items_returned: float
    production: bool


class ReadParts(Expected, total=False):
    """The parts of a get; see AccessPattern."""

    consistent: bool
    consistent_reason: str


class QueryParts(ReadParts, total=False):
    """The parts of a query; see AccessPattern."""

    table: str
    index: str
    partition_key: str
    sort_key: SortCondition
    filter: str
    filter_keeps: float
    newest_first: bool
    limit: int


class WriteParts(Expected, total=False):
    """The parts of a write; see AccessPattern."""

    condition: str
    upsert: bool


class Declared(Generic[P]):
    """A pattern that was declared in a class: its function, and what it says."""

    is_partial = False

    def __init__(
        self, function: Callable[..., None], operation: Operation, parts: dict[str, Any]
    ) -> None:
        self.name = function.__name__
        self.signature = inspect.signature(function)
        self.__doc__ = inspect.getdoc(function)
        self.pattern = AccessPattern(self.name, operation, description=self.__doc__ or "", **parts)

    def arguments(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """Return the arguments of a call by the names the access pattern knows."""
        call = self.signature.bind(None, *args, **kwargs)
        call.apply_defaults()
        given = call.arguments
        names = list(self.signature.parameters)
        given.pop(names[0])
        if self.pattern.operation in _RECORD_NAMES and len(names) > 1 and names[1] in given:
            given = {_RECORD_NAMES[self.pattern.operation]: given.pop(names[1]), **given}
        return dict(given)


_RECORD_NAMES = {"create": "record", "put": "record", "batch_write": "records", "batch_get": "keys"}


@final
class PagesPattern(Declared[P], Generic[P, Result]):
    """A declared pattern whose result comes in pages."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: DesignBase, owner: type) -> Callable[P, Pages[Result]]: ...

    def __get__(self, instance: DesignBase | None, owner: type) -> Any:
        return self if instance is None else _Method(self, instance)


@final
class ResultPattern(Declared[P], Generic[P, Result]):
    """A declared pattern with one result."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: DesignBase, owner: type) -> Callable[P, Result]: ...

    def __get__(self, instance: DesignBase | None, owner: type) -> Any:
        return self if instance is None else _Method(self, instance)


@final
class _Method:
    """A declared pattern of a bound design."""

    def __init__(self, declared: Declared[Any], owner: DesignBase) -> None:
        self._declared = declared
        self._owner = owner
        self.__doc__ = declared.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._owner.bound
        pattern = bound.design.pattern(self._declared.name)
        return bound.call(pattern, (), self._declared.arguments(*args, **kwargs))


class DesignBase:
    """The base of designs that are declared as classes.

    Class arguments: `name` (by default that of the class), `style`, `waivers`.
    """

    design: ClassVar[Design]

    def __init__(self, client: Any, binding: Binding = _NO_BINDING) -> None:
        self.bound = BoundDesign(self.design, client, binding)

    def create_tables(self) -> tuple[str, ...]:
        """Create the tables that do not exist yet; see BoundDesign."""
        return self.bound.create_tables()

    def __init_subclass__(
        cls, *, name: str = "", style: Style = "", waivers: Sequence[Waiver] = ()
    ) -> None:
        parts = [part for each in reversed(cls.__mro__) for part in vars(each).values()]
        declared = [part for part in parts if isinstance(part, Declared)]
        cls.design = Design(
            name or cls.__name__,
            tuple(part for part in parts if isinstance(part, Table)),
            tuple(part for part in parts if isinstance(part, Entity)),
            tuple(each.pattern for each in declared),
            tuple(waivers),
            style,
            inspect.getdoc(cls) or "",
        )
        problems = [problem for each in declared for problem in _misfits(each, cls.design)]
        if problems:
            raise DesignError(*problems)


def _misfits(declared: Declared[Any], design: Design) -> list[str]:
    """Return how the function of a declaration differs from the parameters of its pattern."""
    pattern = design.pattern(declared.name)
    wanted = design.parameters_of(pattern)
    given = list(declared.signature.parameters)[1:]
    problems = []
    if pattern.operation in _RECORD_NAMES:
        given = given[1:]
        known = {each.name for name in pattern.entities for each in design.entity(name).attributes}
        wanted = tuple(name for name in pattern.expression_parameters if name not in known)
    optional = set(READ_OPTIONS) if pattern.is_read else {"token"}
    optional |= {design.entity(name).version for name in pattern.entities}
    if pattern.sort_key and pattern.sort_key.operator == "begins_with":
        optional |= set(wanted)
    missing = [name for name in wanted if name not in given and name not in optional]
    if missing:
        problems.append(f"{pattern.name} lacks the parameters {', '.join(missing)}")
    unknown = [name for name in given if name not in wanted and name not in optional]
    if unknown:
        problems.append(f"{pattern.name} has parameters of no use: {', '.join(unknown)}")
    is_partial = bool(pattern.projection) or (
        bool(pattern.index) and design.table(pattern.table).index(pattern.index).projection != "ALL"
    )
    if is_partial != declared.is_partial and pattern.operation == "query":
        problems.append(f"{pattern.name}: declare it with select exactly if items are not whole")
    return problems


Function = Callable[Concatenate[Any, P], None]


@overload
def query(
    entity: Entity[First], /, **parts: Unpack[QueryParts]
) -> Callable[[Function[P]], PagesPattern[P, First]]: ...


@overload
def query(
    entity: Entity[First], second: Entity[Second], /, **parts: Unpack[QueryParts]
) -> Callable[[Function[P]], PagesPattern[P, First | Second]]: ...


@overload
def query(
    entity: Entity[First],
    second: Entity[Second],
    third: Entity[Third],
    /,
    **parts: Unpack[QueryParts],
) -> Callable[[Function[P]], PagesPattern[P, First | Second | Third]]: ...


def query(*entities: Entity[Any], **parts: Unpack[QueryParts]) -> Callable[..., Any]:
    """Declare a query that returns whole records of these entities."""
    names = tuple(entity.name for entity in entities)
    return lambda function: PagesPattern(function, "query", {"entities": names, **parts})


def query_one(
    entity: Entity[Result], /, **parts: Unpack[QueryParts]
) -> Callable[[Function[P]], ResultPattern[P, Result | None]]:
    """Declare a query that returns its first record, or None."""
    said = {"entities": (entity.name,), "single": True, **parts}
    return lambda function: ResultPattern(function, "query", said)


def select(
    entity: Entity[Any], *attributes: str, **parts: Unpack[QueryParts]
) -> Callable[[Function[P]], PagesPattern[P, dict[str, Any]]]:
    """Declare a query that returns some attributes, or what the index has, as dictionaries."""
    said = {"entities": (entity.name,), "projection": attributes, **parts}

    def declare(function: Function[P]) -> PagesPattern[P, dict[str, Any]]:
        pattern: PagesPattern[P, dict[str, Any]] = PagesPattern(function, "query", said)
        pattern.is_partial = True
        return pattern

    return declare


def scan(
    scan_reason: str, /, **parts: Unpack[QueryParts]
) -> Callable[[Function[P]], PagesPattern[P, Any]]:
    """Declare a scan, and why it is the right thing."""
    return lambda function: PagesPattern(function, "scan", {"scan_reason": scan_reason, **parts})


def get(
    entity: Entity[Result], /, **parts: Unpack[ReadParts]
) -> Callable[[Function[P]], ResultPattern[P, Result | None]]:
    """Declare a get: the record with a key, or None."""
    return lambda function: ResultPattern(function, "get", {"entities": (entity.name,), **parts})


def create(
    entity: Entity[Result], /, **parts: Unpack[Expected]
) -> Callable[[Function[P]], ResultPattern[P, Result]]:
    """Declare the creation of a record, which must not exist."""
    said = {"entities": (entity.name,), **parts}
    return lambda function: ResultPattern(function, "create", said)


def put(
    entity: Entity[Result], /, **parts: Unpack[WriteParts]
) -> Callable[[Function[P]], ResultPattern[P, Result]]:
    """Declare the writing of a whole record."""
    return lambda function: ResultPattern(function, "put", {"entities": (entity.name,), **parts})


def update(
    entity: Entity[Result], expression: str, /, **parts: Unpack[WriteParts]
) -> Callable[[Function[P]], ResultPattern[P, Result]]:
    """Declare an update by an expression; it returns the record as it is now."""
    said = {"entities": (entity.name,), "update": expression, **parts}
    return lambda function: ResultPattern(function, "update", said)


def delete(
    entity: Entity[Result], /, **parts: Unpack[WriteParts]
) -> Callable[[Function[P]], ResultPattern[P, Result | None]]:
    """Declare a deletion; it returns the record that was there, or None."""
    said = {"entities": (entity.name,), **parts}
    return lambda function: ResultPattern(function, "delete", said)


def batch_get(
    entity: Entity[Result], /, **parts: Unpack[ReadParts]
) -> Callable[[Function[P]], ResultPattern[P, list[Result]]]:
    """Declare a batch get; its parameter is a sequence of mappings of key fields."""
    said = {"entities": (entity.name,), **parts}
    return lambda function: ResultPattern(function, "batch_get", said)


def batch_write(
    entity: Entity[Any], /, **parts: Unpack[Expected]
) -> Callable[[Function[P]], ResultPattern[P, int]]:
    """Declare a batch write; its parameter is an iterable of records."""
    said = {"entities": (entity.name,), **parts}
    return lambda function: ResultPattern(function, "batch_write", said)


def transact(
    reason: str, *steps: Step, **parts: Unpack[Expected]
) -> Callable[[Function[P]], ResultPattern[P, None]]:
    """Declare a transaction, and why one item would not do."""
    said = {"transaction_reason": reason, "steps": steps, **parts}
    return lambda function: ResultPattern(function, "transact_write", said)
