"""The tree of a statement as it is written.

Everything is an expression, even a whole statement, as in the grammar of the service; later steps
check what is allowed where. Nodes keep their depth and the token that error messages point at.
"""

from __future__ import annotations

from typing import final

from hashrange.expressions.partiql.lexer import Token


class Node:
    """A node; `depth` counts the levels below it."""

    __slots__ = ("depth", "in_parentheses", "token")
    title = "Expression"  # what messages call it

    def __init__(self, token: Token, depth: int = 0) -> None:
        self.token = token
        self.depth = depth
        self.in_parentheses = False


@final
class Literal(Node):
    """A string, a number, true, false, null or an ion literal; the token says which."""

    __slots__ = ("negative",)
    title = "Literal"

    def __init__(self, token: Token, *, negative: bool = False) -> None:
        super().__init__(token)
        self.negative = negative


@final
class Missing(Node):
    """The word MISSING."""

    __slots__ = ()
    title = "LiteralMissing"


@final
class Parameter(Node):
    """A question mark."""

    __slots__ = ("index",)
    title = "Parameter"

    def __init__(self, token: Token, index: int) -> None:
        super().__init__(token)
        self.index = index


@final
class Reference(Node):
    """A name."""

    __slots__ = ()
    title = "VariableReference"


@final
class PathTree(Node):
    """A name or something else, and the steps from it: names, indexes, or "*"."""

    __slots__ = ("root", "steps")
    title = "Path"

    def __init__(self, root: Node, steps: list[Node]) -> None:
        super().__init__(root.token, 1 + max(root.depth, *(step.depth for step in steps)))
        self.root = root
        self.steps = steps


@final
class Wildcard(Node):
    """A star as a step of a path."""

    __slots__ = ()


@final
class Sequence(Node):
    """A list, a bag or a parenthesis with several members; the token's kind says which."""

    __slots__ = ("members",)

    def __init__(self, token: Token, members: list[Node]) -> None:
        super().__init__(token, 1 + max((member.depth for member in members), default=0))
        self.members = members

    @property
    def is_bag(self) -> bool:
        return self.token.kind == "<<"


@final
class Struct(Node):
    """A map."""

    __slots__ = ("members",)
    title = "Struct"

    def __init__(self, token: Token, members: list[tuple[Node, Node]]) -> None:
        super().__init__(token, 1 + max((value.depth for _, value in members), default=0))
        self.members = members


@final
class Operation(Node):
    """An operator, in lower case, and its operands; runs of AND or OR make one node."""

    __slots__ = ("operands", "operator")
    title = "NAry"

    def __init__(self, token: Token, operator: str, operands: list[Node]) -> None:
        super().__init__(token, 1 + max(operand.depth for operand in operands))
        self.operator = operator
        self.operands = operands


@final
class TypeTest(Node):
    """IS and a type."""

    __slots__ = ("operand", "type")
    title = "IsType"

    def __init__(self, token: Token, operand: Node, type: str) -> None:
        super().__init__(token, 1 + operand.depth)
        self.operand = operand
        self.type = type


@final
class Call(Node):
    """A function, in lower case, and its operands."""

    __slots__ = ("function", "operands")
    title = "NAry"

    def __init__(self, token: Token, operands: list[Node]) -> None:
        super().__init__(token, 1 + max((operand.depth for operand in operands), default=0))
        self.function = token.text.lower()
        self.operands = operands


@final
class Select(Node):
    """A SELECT; `projection` is None for a star, `refusal` what is not supported in it."""

    __slots__ = ("order", "projection", "refusal", "source", "where")
    title = "Select"

    def __init__(self, token: Token) -> None:
        super().__init__(token, 1)
        self.projection: list[Node] | None = None
        self.source: Node
        self.where: Node | None = None
        self.order: list[tuple[Node, bool]] = []  # the key, and whether it descends
        self.refusal: str | None = None


@final
class Insert(Node):
    """An INSERT; `refusal` says what is not supported in it."""

    __slots__ = ("refusal", "target", "value")
    title = "InsertOp"

    def __init__(self, token: Token, target: Node, value: Node) -> None:
        super().__init__(token, 1 + value.depth)
        self.target = target
        self.value = value
        self.refusal: str | None = None


@final
class Returning:
    """A RETURNING clause: ALL or MODIFIED, OLD or NEW."""

    __slots__ = ("images", "refusal", "scope")

    def __init__(self, scope: str, images: str) -> None:
        self.scope = scope
        self.images = images
        self.refusal: str | None = None

    def __str__(self) -> str:
        return f"RETURNING {self.scope} {self.images} *"


@final
class Assignment:
    """One SET or, without a value, one REMOVE."""

    __slots__ = ("path", "value")

    def __init__(self, path: Node, value: Node | None) -> None:
        self.path = path
        self.value = value


@final
class Update(Node):
    """An UPDATE, or the same with FROM first."""

    __slots__ = ("assignments", "refusal", "returning", "target", "where")
    title = "Update"

    def __init__(self, token: Token, target: Node) -> None:
        super().__init__(token, 1)
        self.target = target
        self.assignments: list[Assignment] = []
        self.where: Node | None = None
        self.returning: Returning | None = None
        self.refusal: str | None = None


@final
class Delete(Node):
    """A DELETE."""

    __slots__ = ("refusal", "returning", "target", "where")
    title = "Delete"

    def __init__(self, token: Token, target: Node) -> None:
        super().__init__(token, 1)
        self.target = target
        self.where: Node | None = None
        self.returning: Returning | None = None
        self.refusal: str | None = None
