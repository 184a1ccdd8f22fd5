"""Parser of PartiQL expressions, by operator precedence.

Recursion is bounded by STATEMENT_DEPTH_MAX, also along chains of one operator, so that neither
parsing nor any walk over the tree can exhaust Python's stack.
"""

from __future__ import annotations

from typing import Final

from hashrange.expressions.partiql.keywords import (
    FUNCTION_WORDS,
    KEYWORDS,
    OPERATOR_WORDS,
    TYPE_NAMES,
)
from hashrange.expressions.partiql.lexer import (
    END,
    ION,
    NAME,
    NUMBER,
    STRING,
    Token,
    not_well_formed,
    tokenize,
)
from hashrange.expressions.partiql.tree import (
    Call,
    Literal,
    Missing,
    Node,
    Operation,
    Parameter,
    PathTree,
    Reference,
    Sequence,
    Struct,
    TypeTest,
    Wildcard,
)
from hashrange.limits import STATEMENT_DEPTH_MAX

_STRENGTHS: Final = {
    "or": 1,
    "and": 2,
    "=": 4,
    "<>": 4,
    "!=": 4,
    "is": 4,
    "in": 4,
    "<": 5,
    "<=": 5,
    ">": 5,
    ">=": 5,
    "between": 5,
    "like": 5,
    "||": 6,
    "+": 7,
    "-": 7,
    "*": 8,
    "/": 8,
    "%": 8,
}
_NOT: Final = 3
_AFTER_NOT: Final = frozenset(("in", "between", "like"))
_OPERATORS: Final = OPERATOR_WORDS | _STRENGTHS.keys()
_LITERALS: Final = frozenset((STRING, NUMBER, ION, "true", "false", "null"))
_CLOSING: Final = {"(": ")", "[": "]", "<<": ">>"}


class ExpressionParser:
    """Parses expressions; a subclass parses statements such as SELECT."""

    __slots__ = ("_depth", "_next", "_tokens", "parameters")

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._next = 0
        self._depth = 0
        self.parameters = 0

    def statement_term(self, token: Token) -> Node | None:
        """Parse a statement if one starts here."""
        raise NotImplementedError

    def expression(self, strength: int = 1) -> Node:
        """Parse an expression whose operators bind at least this strongly."""
        self._depth += 1
        if self._depth > STATEMENT_DEPTH_MAX:
            raise not_well_formed()
        left = self._prefixed()
        while True:
            token = self.peek()
            negated = token.kind == "not" and self._tokens[self._next + 1].kind in _AFTER_NOT
            operator = self._tokens[self._next + 1].kind if negated else token.kind
            binding = _STRENGTHS.get(operator, 0)
            if binding < strength:
                break
            self._next += 1 + negated
            if self.peek().kind in (END, ";"):
                raise not_well_formed("Missing right-hand side expression of infix operator")
            left = self._infix(token, operator, binding, left)
            if negated:
                left = Operation(token, "not", [left])
            self._check_depth(left)
        self._depth -= 1
        return left

    def _infix(self, token: Token, operator: str, binding: int, left: Node) -> Node:
        if operator == "is":
            return self._type_test(token, left)
        if operator == "between":
            lower = self.expression(_STRENGTHS["between"] + 1)
            self.expect("and", "Expected AND after BETWEEN")
            return Operation(token, operator, [left, lower, self.expression(binding + 1)])
        right = self.expression(binding + 1)
        if operator == "like" and self.accept("escape"):
            self.expression(binding + 1)
        if operator == "!=":
            operator = "<>"
        if (
            operator in ("and", "or")
            and isinstance(left, Operation)
            and left.operator == operator
            and not left.in_parentheses
        ):
            return Operation(left.token, operator, [*left.operands, right])
        return Operation(token, operator, [left, right])

    def _type_test(self, token: Token, operand: Node) -> Node:
        negated = self.accept("not")
        name = self.peek()
        printed = TYPE_NAMES.get(name.text.lower()) if name.kind != STRING else None
        if printed is None:
            raise not_well_formed("Expected type name")
        self._next += 1
        if printed == "DOUBLE_PRECISION":
            self.expect("precision", "Expected type name")
        elif printed == "CHARACTER" and self.accept("varying"):
            printed = "CHARACTER_VARYING"
        if self.peek().kind == "(":
            self._parenthesis(self.peek())
        test = TypeTest(token, operand, printed)
        return Operation(token, "not", [test]) if negated else test

    def _prefixed(self) -> Node:
        token = self.peek()
        if token.kind == "not":
            self._next += 1
            return Operation(token, "not", [self.expression(_NOT)])
        if token.kind in ("+", "-"):
            self._next += 1
            operand = self.expression(_STRENGTHS["*"] + 1)
            if isinstance(operand, Literal) and operand.token.kind == NUMBER:
                return Literal(operand.token, negative=operand.negative != (token.kind == "-"))
            return Operation(token, token.kind, [operand])
        return self._path()

    def _path(self) -> Node:
        root = self._term()
        steps: list[Node] = []
        while True:
            token = self.peek()
            if token.kind == ".":
                self._next += 1
                steps.append(self._dot_step())
            elif token.kind == "[":
                self._next += 1
                steps.append(self._bracket_step())
            else:
                return PathTree(root, steps) if steps else root

    def _dot_step(self) -> Node:
        token = self.peek()
        self._next += 1
        if token.kind == NAME:
            return Reference(token)
        if token.kind == "*":
            return Wildcard(token)
        raise not_well_formed("Invalid path dot component")

    def _bracket_step(self) -> Node:
        token = self.peek()
        if token.kind == "*":
            self._next += 1
            step: Node = Wildcard(token)
        else:
            step = self.expression()
        self.expect("]", "Expected ] for path component")
        return step

    def _term(self) -> Node:
        token = self.peek()
        kind = token.kind
        if kind in _LITERALS:
            self._next += 1
            return Literal(token)
        if (kind == NAME or kind in FUNCTION_WORDS) and self._tokens[self._next + 1].kind == "(":
            return self._call(token)
        if kind == NAME:
            self._next += 1
            return Reference(token)
        if kind == "?":
            self._next += 1
            self.parameters += 1
            return Parameter(token, self.parameters - 1)
        if kind == "missing":
            self._next += 1
            return Missing(token)
        if kind == "@":
            self._next += 1
            return Reference(self.expect(NAME, "Unexpected term"))
        if kind in ("[", "<<"):
            self._next += 1
            return Sequence(token, self._members(_CLOSING[kind]))
        if kind == "{":
            return self._struct(token)
        if kind == "(":
            return self._parenthesis(token)
        statement = self.statement_term(token)
        if statement is not None:
            return statement
        if kind in _OPERATORS:
            raise not_well_formed("Unexpected operator")
        raise not_well_formed("Unexpected keyword" if kind in KEYWORDS else "Unexpected term")

    def _call(self, token: Token) -> Node:
        self._next += 2
        if self.peek().kind == "*":
            star = Wildcard(self.peek())
            self._next += 1
            self.expect(")", "Expected )")
            return Call(token, [star])
        return Call(token, self._members(")"))

    def _parenthesis(self, token: Token) -> Node:
        self._next += 1
        members = self._members(")")
        if len(members) != 1:
            return Sequence(token, members)
        members[0].in_parentheses = True
        return members[0]

    def _members(self, closing: str) -> list[Node]:
        members: list[Node] = []
        if self.accept(closing):
            return members
        while True:
            members.append(self.expression())
            if not self.accept(","):
                self.expect(closing, f"Expected {closing}")
                return members

    def _struct(self, token: Token) -> Node:
        self._next += 1
        members: list[tuple[Node, Node]] = []
        if self.accept("}"):
            return Struct(token, members)
        while True:
            name = self.expression()
            self.expect(":", "Expected : after a tuple key")
            members.append((name, self.expression()))
            if not self.accept(","):
                self.expect("}", "Expected }")
                return Struct(token, members)

    def _check_depth(self, node: Node) -> None:
        if node.depth > STATEMENT_DEPTH_MAX:
            raise not_well_formed()

    def peek(self) -> Token:
        """Return the next token."""
        return self._tokens[self._next]

    def accept(self, kind: str) -> bool:
        """Take the next token if it is of this kind."""
        if self._tokens[self._next].kind != kind:
            return False
        self._next += 1
        return True

    def accept_word(self, word: str) -> bool:
        """Take the next token if it is this word, reserved or not."""
        if self._tokens[self._next].text.lower() != word:
            return False
        self._next += 1
        return True

    def expect(self, kind: str, detail: str) -> Token:
        """Take the next token, which must be of this kind."""
        token = self._tokens[self._next]
        if token.kind != kind:
            raise not_well_formed(detail)
        self._next += 1
        return token
