"""Names, literals and parameters of a statement as operands of bound expressions.

Literals and parameters become values with names of their own, ":0" and ":p0", so that conditions
and updates are bound and evaluated exactly as those of the other operations.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import Binder, NamePairs
from hashrange.expressions.nodes import Element, Path, PathNode, ValueNode
from hashrange.expressions.partiql.lexer import NUMBER, STRING
from hashrange.expressions.partiql.literals import EMPTY_COMPONENT, is_literal, literal_value
from hashrange.expressions.partiql.tree import (
    Literal,
    Missing,
    Node,
    Parameter,
    PathTree,
    Reference,
    Wildcard,
)
from hashrange.model.values import Value

KIND: Final = ""
"""Messages about statements do not name a parameter of the request."""

_INDEX_MAX: Final = 2**31 - 1


@final
class Terms:
    """The values and names of one statement, collected while it is prepared."""

    __slots__ = ("_names", "literals")

    def __init__(self) -> None:
        self.literals: dict[str, Value] = {}
        self._names: dict[str, str] = {}

    def binder(self) -> Binder:
        """Return the binder for conditions and updates made of these terms."""
        pairs: NamePairs = tuple((alias, name) for name, alias in self._names.items())
        return Binder(KIND, pairs)

    def constant(self, value: Value) -> ValueNode:
        """Return an operand for a value."""
        name = f":{len(self.literals)}"
        self.literals[name] = value
        return ValueNode(name)

    def operand(self, node: Node) -> PathNode | ValueNode | None:
        """Return the operand for a name, literal or parameter; None for anything else."""
        if isinstance(node, Parameter):
            return ValueNode(parameter_name(node.index))
        if is_literal(node):
            return self.constant(literal_value(node))
        if isinstance(node, Missing):
            raise ValidationException("MISSING must be compared using IS operator")
        if isinstance(node, Reference | PathTree):
            return self.path(node)
        return None

    def path(self, node: Node) -> PathNode:
        """Return the operand for a document path."""
        first, *rest = read_document_path(node)
        elements = [self._alias(element) for element in rest]
        return PathNode((self._named(first), *elements))

    def _alias(self, element: Element) -> Element:
        return element if isinstance(element, int) else self._named(element)

    def _named(self, element: Element) -> str:
        assert isinstance(element, str)
        # A name that looks like a placeholder is replaced by a placeholder.
        if element[0] not in "#:":
            return element
        return self._names.setdefault(element, f"#{len(self._names)}")

    def resolve(self, node: PathNode) -> Path:
        """Return the names a path stands for."""
        real = {alias: name for name, alias in self._names.items()}
        first, *rest = node.elements
        return (
            real.get(first, first),
            *(
                real.get(element, element) if isinstance(element, str) else element
                for element in rest
            ),
        )


def parameter_name(index: int) -> str:
    """Return the name under which a parameter is a value."""
    return f":p{index}"


def read_document_path(node: Node) -> Path:
    """Return the path a name with its steps is."""
    if isinstance(node, Reference):
        return (_component(node),)
    if not isinstance(node, PathTree) or not isinstance(node.root, Reference):
        raise unexpected_component(node)
    return (_component(node.root), *(_step(step) for step in node.steps))


def _step(step: Node) -> Element:
    if isinstance(step, Reference):
        return _component(step)
    if isinstance(step, Wildcard):
        raise ValidationException(
            f"Unpivot path component like a.*.b are not supported{step.token.place}"
        )
    if isinstance(step, Literal) and step.token.kind == STRING:
        return _component(step)
    if isinstance(step, Literal) and step.token.kind == NUMBER and step.token.text.isdigit():
        index = int(step.token.text)
        if step.negative or index > _INDEX_MAX:
            raise ValidationException(
                "List index is not within the allowable range; "
                f"index: [{'-' if step.negative else ''}{step.token.text}]{step.token.place}"
            )
        return index
    raise unexpected_component(step)


def _component(node: Node) -> str:
    if not node.token.text:
        raise ValidationException(EMPTY_COMPONENT)
    return node.token.text


def unexpected_component(node: Node) -> ValidationException:
    """Return the error for a node that is not a document path."""
    return ValidationException(f"Unexpected path component{node.token.place}")
