"""Access patterns: the named reads and writes a design exists for.

An access pattern says which operation is sent to which table or index, how the key is made from the
parameters of the call, and what is expected of it. Its parameters are the fields of its key
templates and the `:names` in its expressions. Expressions are DynamoDB's own, with plain attribute
names: reserved words need no `#` placeholder, and values are `:parameters`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, final

from hashrange.toolkit.design.expectations import NO_BUDGET, Budget, Rate
from hashrange.toolkit.design.templates import iterate_fields

Operation = Literal[
    "get", "query", "scan", "create", "put", "update", "delete",
    "batch_get", "batch_write", "transact_get", "transact_write",
]  # fmt: skip
"""`create` is a put that fails if the item exists; the others are named as in the API."""

READS: Final = frozenset({"get", "query", "scan", "batch_get", "transact_get"})
WRITES: Final = frozenset({"create", "put", "update", "delete", "batch_write", "transact_write"})

SortOperator = Literal["=", "<", "<=", ">", ">=", "begins_with", "between"]
StepAction = Literal["create", "put", "update", "delete", "check"]

_PARAMETER: Final = re.compile(r":(\w+)")


@final
@dataclass(frozen=True, slots=True)
class SortCondition:
    """A condition on the sort key of a query: an operator and one template, two for between."""

    operator: SortOperator
    value: str
    upper: str = ""

    @property
    def templates(self) -> tuple[str, ...]:
        return (self.value, self.upper) if self.operator == "between" else (self.value,)


def equals(template: str) -> SortCondition:
    """The sort key is exactly this."""
    return SortCondition("=", template)


def begins_with(template: str) -> SortCondition:
    """The sort key begins with this."""
    return SortCondition("begins_with", template)


def between(lower: str, upper: str) -> SortCondition:
    """The sort key lies between the two, both included."""
    return SortCondition("between", lower, upper)


def below(template: str) -> SortCondition:
    """The sort key comes before this."""
    return SortCondition("<", template)


def above(template: str) -> SortCondition:
    """The sort key comes after this."""
    return SortCondition(">", template)


def at_most(template: str) -> SortCondition:
    """The sort key is this or comes before it."""
    return SortCondition("<=", template)


def at_least(template: str) -> SortCondition:
    """The sort key is this or comes after it."""
    return SortCondition(">=", template)


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One step of a transaction: an action on an item of an entity.

    The fields of the entity's key templates are parameters of the pattern. `rename` maps a field to
    the parameter it is taken from, for transactions with two items of the same entity:
    `{"account_id": "from_account"}`. A step that writes a whole item takes it from the parameter
    `record`, by default the name of the entity. `each` names a parameter that is a sequence: the
    step is carried out once for each of its elements, which are mappings of parameters, or whole
    records where the step writes whole items. `message` is the text of the error when the condition
    of this step fails.
    """

    action: StepAction
    entity: str
    update: str = ""
    condition: str = ""
    rename: Mapping[str, str] = field(default_factory=dict, hash=False)
    record: str = ""
    each: str = ""
    message: str = ""


@final
@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A named read or write.

    `entities` are the entities that are returned or written, the main one first. `partition_key`
    and `sort_key` are made from templates; left out, they are those of the first entity, except
    that a query without `sort_key` reads the whole item collection. A `get`, `update` or `delete`
    always uses the full key of its entity.

    A partition key template with shards, or with a time bucket given a range, makes the query a
    scatter/gather: one query per shard or bucket, merged in the order of the sort key.

    `filter` drops items after they were read; `filter_keeps` is the share (0 to 1) expected to
    remain. `projection` names the attributes the caller needs; empty means all of them. `limit` is
    the default number of items, `single` says that at most one is expected and returned as such.
    `consistent` asks for strongly consistent reads, `consistent_reason` says why they are needed.
    `items_returned` is the expected number of items per call.

    `update` and `condition` are expressions for writes. An update of an item that is absent fails,
    unless `upsert` lets it create the item. `steps` make up a transaction, and
    `transaction_reason` says why one item would not do. `scan_reason` says why a scan is right.
    """

    name: str
    operation: Operation
    entities: tuple[str, ...] = ()
    table: str = ""
    index: str = ""
    partition_key: str = ""
    sort_key: SortCondition | None = None
    filter: str = ""
    filter_keeps: float | None = None
    projection: tuple[str, ...] = ()
    newest_first: bool = False
    limit: int | None = None
    single: bool = False
    consistent: bool = False
    consistent_reason: str = ""
    update: str = ""
    condition: str = ""
    upsert: bool = False
    steps: tuple[Step, ...] = ()
    transaction_reason: str = ""
    scan_reason: str = ""
    items_returned: float | None = None
    rate: Rate | None = None
    budget: Budget = NO_BUDGET
    production: bool = True
    description: str = ""

    @property
    def is_read(self) -> bool:
        return self.operation in READS

    @property
    def templates(self) -> tuple[str, ...]:
        """The key templates of the pattern itself: partition key, then those of the sort key."""
        sort = self.sort_key.templates if self.sort_key else ()
        return (self.partition_key, *sort) if self.partition_key else sort

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields of the key templates, each once."""
        return tuple(dict.fromkeys(iterate_fields(*self.templates)))

    @property
    def expression_parameters(self) -> tuple[str, ...]:
        """The `:parameters` of filter, update and condition, each once."""
        return parameters_of(self.filter, self.update, self.condition)


def parameters_of(*expressions: str) -> tuple[str, ...]:
    """Return the names of the `:parameters` in expressions, each once, in order."""
    names = (match for text in expressions for match in _PARAMETER.findall(text))
    return tuple(dict.fromkeys(names))
