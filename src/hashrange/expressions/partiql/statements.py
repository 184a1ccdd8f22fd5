"""Statements, prepared: parsed, checked without their table, and remembered by their text.

A prepared statement is bound to the parameters of a request with `values`; what needs the table
(keys, indexes) is the business of the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import Check, Values, may_keep, run_checks
from hashrange.expressions.mentions import collect_action
from hashrange.expressions.nodes import ValueNode
from hashrange.expressions.partiql.assignments import read_assignment
from hashrange.expressions.partiql.filters import read_where
from hashrange.expressions.partiql.literals import is_literal, member_name, unsupported_attribute
from hashrange.expressions.partiql.parser import StatementParser
from hashrange.expressions.partiql.selection import Selection, read_selection
from hashrange.expressions.partiql.terms import Terms, parameter_name
from hashrange.expressions.partiql.tree import (
    Call,
    Delete,
    Insert,
    Literal,
    Node,
    Parameter,
    PathTree,
    Reference,
    Returning,
    Select,
    Struct,
    Update,
    Wildcard,
)
from hashrange.expressions.partiql.where import Where
from hashrange.expressions.updates import Update as BoundUpdate
from hashrange.expressions.updates import bind_update
from hashrange.limits import STATEMENTS_KEPT_MAX
from hashrange.model.values import OLDER, Item, Value, check_value

_SINGLE_NAME: Final = (
    "FROM clause may only contain a single table name in data manipulation statements"
)


class Statement:
    """A prepared statement: its table, its WHERE clause if any, and its values."""

    __slots__ = ("_literals", "_parameters", "checks", "index_name", "table_name", "where")

    def __init__(self, names: tuple[str, str | None]) -> None:
        self.table_name, self.index_name = names
        self.where: Where | None = None
        self.checks: tuple[Check, ...] = ()
        self._literals: dict[str, Value] = {}
        self._parameters = 0

    def keep(self, terms: Terms, parameters: int) -> None:
        """Note the literals and the number of parameters."""
        self._literals = terms.literals
        self._parameters = parameters

    def check_count(self, parameters: Sequence[Value]) -> None:
        """Refuse too few parameters."""
        if len(parameters) < self._parameters:
            raise ValidationException("Number of parameters in request and statement don't match.")

    def values(self, parameters: Sequence[Value]) -> Values:
        """Check the parameters of a request and return all values of the statement."""
        self.check_count(parameters)
        for parameter in parameters:
            check_value(parameter, OLDER)
        values = self._literals
        if self._parameters:
            values = values.copy()
            for index in range(self._parameters):
                values[parameter_name(index)] = parameters[index]
        run_checks(self.checks, values)
        if self.where is not None:
            self.where.check(values)
        return values


@final
class SelectStatement(Statement):
    """A SELECT; `selection` is None for a star.

    `selection_refusal` is what is wrong with its list, which AWS says once it knows the index.
    """

    __slots__ = ("order", "selection", "selection_refusal")

    def __init__(self, names: tuple[str, str | None]) -> None:
        super().__init__(names)
        self.selection: Selection | None = None
        self.selection_refusal: str | None = None
        self.order: tuple[tuple[str, bool], ...] = ()


@final
class InsertStatement(Statement):
    """An INSERT: the names of the values by attribute."""

    __slots__ = ("_attributes",)

    def __init__(self, names: tuple[str, str | None], attributes: dict[str, str]) -> None:
        super().__init__(names)
        self._attributes = attributes

    @property
    def attributes(self) -> list[str]:
        """The attributes of the item."""
        return list(self._attributes)

    def item(self, values: Values) -> Item:
        """Return the item to insert."""
        return {attribute: values[name] for attribute, name in self._attributes.items()}


@final
class UpdateStatement(Statement):
    """An UPDATE."""

    __slots__ = ("_update", "attributes", "returning")

    def __init__(
        self, names: tuple[str, str | None], node: Update, terms: Terms, where: Where | None
    ) -> None:
        super().__init__(names)
        checks: list[Check] = []
        actions = [read_assignment(terms, assignment, checks) for assignment in node.assignments]
        # The attributes it mentions, read or written.
        mentions: dict[str, None] = {}
        for action in actions:
            collect_action(action, lambda path: terms.resolve(path)[0], mentions)
        self.attributes = list(mentions)
        # Of statements AWS looks at the first action first, unlike of expressions.
        self._update = bind_update(terms.binder(), actions[::-1], 0)
        self.checks = tuple(checks)
        self.where = where
        self.returning = node.returning

    def update(self, values: Values) -> BoundUpdate:
        """Return what is to be done to the item."""
        return self._update.bind(values)


@final
class DeleteStatement(Statement):
    """A DELETE."""

    __slots__ = ("returning",)

    def __init__(self, names: tuple[str, str | None], returning: Returning | None) -> None:
        super().__init__(names)
        self.returning = returning


@final
class ExistsStatement(Statement):
    """EXISTS and the SELECT it asks about."""

    __slots__ = ()


def prepare_statement(text: str) -> Statement:
    """Parse and check a statement, or find it prepared."""
    return _kept(text) if may_keep(text, ()) else _parse(text)


def _parse(text: str) -> Statement:
    parser = StatementParser(text)
    node = parser.statement()
    terms = Terms()
    statement = _prepare(terms, node)
    statement.keep(terms, parser.parameters)
    return statement


_kept = lru_cache(STATEMENTS_KEPT_MAX)(_parse)


def _prepare(terms: Terms, node: Node) -> Statement:
    if isinstance(node, Select):
        return _prepare_select(terms, node)
    if isinstance(node, Insert):
        return _prepare_insert(terms, node)
    if isinstance(node, Update):
        _refuse(node.refusal, node.returning)
        names = _target(node.target)
        return UpdateStatement(names, node, terms, _where(terms, node.where))
    if isinstance(node, Delete):
        return _prepare_delete(terms, node)
    if isinstance(node, Call) and node.function == "exists" and len(node.operands) == 1:
        select = node.operands[0]
        if isinstance(select, Select):
            inner = _prepare_select(terms, select)
            exists = ExistsStatement((inner.table_name, inner.index_name))
            exists.where = inner.where
            return exists
    raise ValidationException(f"Unsupported operation: {node.title}")


def _refuse(refusal: str | None, returning: Returning | None = None) -> None:
    if refusal is None and returning is not None:
        refusal = returning.refusal
    if refusal is not None:
        raise ValidationException(refusal)


def _prepare_select(terms: Terms, node: Select) -> SelectStatement:
    _refuse(node.refusal)
    names = _source(node.source)
    statement = SelectStatement(names)
    if node.projection is not None:
        try:
            statement.selection = read_selection(node.projection)
        except ValidationException as error:
            statement.selection_refusal = error.message
    statement.where = _where(terms, node.where)
    statement.order = tuple((_order_key(key), descends) for key, descends in node.order)
    return statement


def _order_key(node: Node) -> str:
    if not isinstance(node, Reference):
        raise ValidationException(f"Unexpected path component{node.token.place}")
    return node.token.text


def _prepare_insert(terms: Terms, node: Insert) -> InsertStatement:
    _refuse(node.refusal)
    if not isinstance(node.target, Reference):
        raise ValidationException(_SINGLE_NAME)
    table_name, _ = _source(node.target)
    if not isinstance(node.value, Struct):
        raise ValidationException(
            "Unsupported format in item expression. Please use struct format {...} to express "
            f"item values for insert statement.{node.value.token.place}"
        )
    attributes: dict[str, str] = {}
    for name_node, member in node.value.members:
        name = member_name(name_node)
        if name in attributes:
            raise ValidationException(
                f"Duplicate keys in tuple. Key: {name} under root{name_node.token.place}"
            )
        if not isinstance(member, Parameter) and not is_literal(member):
            raise unsupported_attribute(member)
        operand = terms.operand(member)
        assert isinstance(operand, ValueNode)
        attributes[name] = operand.name
    return InsertStatement((table_name, None), attributes)


def _prepare_delete(terms: Terms, node: Delete) -> DeleteStatement:
    returning = node.returning
    _refuse(node.refusal, returning)
    if returning is not None and (returning.scope, returning.images) != ("ALL", "OLD"):
        raise ValidationException(
            f"Invalid returning clause: {returning}. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    statement = DeleteStatement(_target(node.target), returning)
    statement.where = _where(terms, node.where)
    return statement


def _where(terms: Terms, node: Node | None) -> Where | None:
    return None if node is None else Where(terms, read_where(terms, node))


def _target(node: Node) -> tuple[str, str | None]:
    names = _source(node)
    if names[1] is not None:
        raise ValidationException("This operation is not supported on an index")
    return names


def _source(node: Node) -> tuple[str, str | None]:
    """Return the table and index a FROM clause names."""
    components = [node]
    if isinstance(node, PathTree):
        components = [node.root, *node.steps]
    for component in components:
        if isinstance(component, Wildcard):
            raise ValidationException(
                f"Unpivot path component like a.*.b are not supported{component.token.place}"
            )
        if component is not node and isinstance(component, Literal):
            raise ValidationException("Invalid list expression in source.")
        if not isinstance(component, Reference):
            raise ValidationException("Unexpected from source")
    if len(components) > 2:
        raise ValidationException("A path may contain at most 2 components in the FROM clause")
    names = [component.token.text for component in components]
    if "" in names:
        raise ValidationException("Path component cannot be an empty string")
    return names[0], names[1] if len(names) > 1 else None
