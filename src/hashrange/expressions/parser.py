"""Parser of expressions: turns tokens into a tree, with AWS's messages for syntax errors.

Only syntax and redundant parentheses are checked here; AWS reports the latter while parsing.
Conditions are parsed with an explicit stack and operands recurse once per nested function, so
no expression exhausts Python's stack. A tree deeper than EXPRESSION_DEPTH_MAX is refused for its
number of operators, which is then always too large.
"""

from __future__ import annotations

from typing import NoReturn, final

from hashrange.errors import ValidationException
from hashrange.expressions.lexer import (
    END,
    INDEX,
    NAME,
    NAME_PLACEHOLDER,
    VALUE_PLACEHOLDER,
    Token,
    tokenize,
)
from hashrange.expressions.nodes import (
    ActionNode,
    ArithmeticNode,
    CallNode,
    ComparisonNode,
    ConditionNode,
    Element,
    LogicalNode,
    NotNode,
    Operand,
    PathNode,
    SectionNode,
    ValueNode,
)
from hashrange.limits import (
    EXPRESSION_BYTES_MAX,
    EXPRESSION_DEPTH_MAX,
    EXPRESSION_OPERATORS_MAX,
)

_COMPARATORS = frozenset(("=", "<>", "<", "<=", ">", ">="))
_SECTIONS = frozenset(("SET", "REMOVE", "ADD", "DELETE"))
_OPERANDS = (PathNode, ValueNode, CallNode)


def invalid(kind: str, reason: str) -> ValidationException:
    """Return AWS's refusal of an expression.

    `kind` is the parameter, as ConditionExpression, or empty for statements, which have none.
    """
    return ValidationException(f"Invalid {kind}: {reason}" if kind else reason)


def too_many_operators(kind: str) -> ValidationException:
    # AWS stops counting at the first operator too many.
    count = EXPRESSION_OPERATORS_MAX + 1
    return invalid(kind, f"The expression contains too many operators; operator count: {count}")


@final
class Parser:
    """Parses one expression; `operators` counts its operators and functions."""

    __slots__ = ("_kind", "_next", "_text", "_tokens", "operators")

    def __init__(self, kind: str, text: str) -> None:
        if not text:
            raise invalid(kind, "The expression can not be empty;")
        _check_size(kind, text)
        self._kind = kind
        self._text = text
        self._tokens = tokenize(text)
        self._next = 0
        self.operators = 0

    def condition(self) -> ConditionNode:
        """Parse a whole condition."""
        outer: list[_Group] = []
        group = _Group()
        while True:
            while (kind := self._peek().kind) == "(" or kind == "NOT":
                self._next += 1
                if kind == "(":
                    outer.append(group)
                    group = _Group()
                else:
                    self.operators += 1
                    group.negations += 1
            # The token after a parenthesis tells whether it encloses a condition or an operand.
            found: Operand | ConditionNode = self._operand(1)
            in_parentheses = False
            while True:
                if isinstance(found, _OPERANDS) and self._at_comparison():
                    found = self._comparison(found)
                    in_parentheses = False
                elif outer and self._peek().kind == ")":
                    if not group.is_empty():
                        found = group.close(self._as_condition(found))
                        in_parentheses = False
                    if in_parentheses:
                        raise self._redundant_parentheses()
                    self._next += 1
                    in_parentheses = True
                    group = outer.pop()
                else:
                    break
            condition = self._as_condition(found)
            operator = self._peek().kind
            if operator != "AND" and operator != "OR":
                if outer or operator != END:
                    self._refuse()
                return self._bounded(group.close(condition))
            self._next += 1
            self.operators += 1
            group.join(operator, condition)

    def _as_condition(self, found: Operand | ConditionNode) -> ConditionNode:
        """Return a finished condition; a path or value must be followed by a comparison."""
        if isinstance(found, PathNode | ValueNode | ArithmeticNode):
            self._refuse()
        return self._bounded(found)

    def projection(self) -> list[PathNode]:
        """Parse a whole projection: paths separated by commas."""
        paths = [self._path()]
        while self._accept(","):
            paths.append(self._path())
        self._expect(END)
        return paths

    def update(self) -> list[SectionNode]:
        """Parse a whole update: sections in the order they are written."""
        sections: list[SectionNode] = []
        while not sections or self._peek().kind != END:
            token = self._peek()
            if token.kind not in _SECTIONS:
                self._refuse()
            self._next += 1
            actions = [self._action(token.kind)]
            while self._accept(","):
                actions.append(self._action(token.kind))
            sections.append(SectionNode(token.kind, actions))
        return sections

    def _action(self, section: str) -> ActionNode:
        path = self._path()
        if section == "REMOVE":
            return ActionNode(section, path, None)
        if section == "SET":
            self._expect("=")
            return ActionNode(section, path, self._set_value(1)[0])
        return ActionNode(section, path, ValueNode(self._expect(VALUE_PLACEHOLDER).text))

    def _set_value(self, depth: int) -> tuple[Operand, bool]:
        """Parse an operand or the sum or difference of two; say if parentheses enclose it."""
        if depth > EXPRESSION_DEPTH_MAX:
            raise too_many_operators(self._kind)
        in_parentheses = self._accept("(")
        if in_parentheses:
            left, redundant = self._set_value(depth + 1)
            self._expect(")")
            if redundant:
                raise self._redundant_parentheses()
            if isinstance(left, ArithmeticNode):
                return left, True
        else:
            left = self._operand(1)
        operator = self._peek().kind
        if operator != "+" and operator != "-":
            return left, in_parentheses
        self._next += 1
        self.operators += 1
        return ArithmeticNode(operator, left, self._operand(1)), False

    def _operand(self, depth: int) -> Operand:
        """Parse a path, a value placeholder or a function call, perhaps in parentheses."""
        if depth > EXPRESSION_DEPTH_MAX:
            raise too_many_operators(self._kind)
        token = self._peek()
        if token.kind == "(":
            self._next += 1
            nested = self._peek().kind == "("
            inner = self._operand(depth + 1)
            self._expect(")")
            if nested:
                raise self._redundant_parentheses()
            return inner
        if token.kind == VALUE_PLACEHOLDER:
            self._next += 1
            return ValueNode(token.text)
        if token.kind == NAME and self._tokens[self._next + 1].kind == "(":
            return self._call(token, depth)
        return self._path()

    def _call(self, token: Token, depth: int) -> CallNode:
        self._next += 2
        self.operators += 1
        operands = [self._operand(depth + 1)]
        while self._accept(","):
            operands.append(self._operand(depth + 1))
        self._expect(")")
        return CallNode(token.text, operands)

    def _path(self) -> PathNode:
        """Parse a document path."""
        token = self._peek()
        if token.kind != NAME and token.kind != NAME_PLACEHOLDER:
            self._refuse()
        self._next += 1
        first = token.text
        elements: list[Element] = []
        while True:
            if self._accept("["):
                elements.append(int(self._expect(INDEX).text))
                self._expect("]")
            elif self._accept("."):
                token = self._peek()
                # AWS parses a value placeholder here and later reports it as an undefined name.
                if token.kind not in (NAME, NAME_PLACEHOLDER, VALUE_PLACEHOLDER):
                    self._refuse()
                self._next += 1
                elements.append(token.text)
            else:
                return PathNode((first, *elements))

    def _comparison(self, left: Operand) -> ComparisonNode:
        """Parse the rest of a comparison whose first operand has been read."""
        operator = self._peek().kind
        self._next += 1
        self.operators += 1
        if operator == "BETWEEN":
            lower = self._operand(1)
            self._expect("AND")
            return ComparisonNode(operator, [left, lower, self._operand(1)])
        if operator == "IN":
            self._expect("(")
            operands = [left, self._operand(1)]
            while self._accept(","):
                operands.append(self._operand(1))
            self._expect(")")
            return ComparisonNode(operator, operands)
        return ComparisonNode(operator, [left, self._operand(1)])

    def _at_comparison(self) -> bool:
        kind = self._peek().kind
        return kind in _COMPARATORS or kind == "BETWEEN" or kind == "IN"

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _accept(self, kind: str) -> bool:
        """Take the next token if it is of this kind."""
        if self._tokens[self._next].kind != kind:
            return False
        self._next += 1
        return True

    def _expect(self, kind: str) -> Token:
        """Take the next token, which must be of this kind."""
        token = self._tokens[self._next]
        if token.kind != kind:
            self._refuse()
        if kind != END:
            self._next += 1
        return token

    def _refuse(self) -> NoReturn:
        """Report the next token; AWS quotes the text from the token before to the token after."""
        token = self._tokens[self._next]
        start = self._tokens[self._next - 1].start if self._next else 0
        end = token.end if token.kind == END else self._tokens[self._next + 1].end
        near = self._text[start:end]
        raise invalid(self._kind, f'Syntax error; token: "{token.text}", near: "{near}"')

    def _redundant_parentheses(self) -> ValidationException:
        return invalid(self._kind, "The expression has redundant parentheses;")

    def _bounded(self, node: ConditionNode) -> ConditionNode:
        # Every level is an operator or a function, so the operator limit is exceeded as well.
        if node.depth > EXPRESSION_DEPTH_MAX:
            raise too_many_operators(self._kind)
        return node


@final
class _Group:
    """Conditions of one parenthesis, or of the whole expression, joined so far.

    NOT binds before AND, AND before OR; runs of one operator make one node.
    """

    __slots__ = ("alternatives", "conjuncts", "negations")

    def __init__(self) -> None:
        self.alternatives: list[ConditionNode] = []
        self.conjuncts: list[ConditionNode] = []
        self.negations = 0

    def is_empty(self) -> bool:
        return not (self.negations or self.conjuncts or self.alternatives)

    def join(self, operator: str, condition: ConditionNode) -> None:
        """Add a condition and the operator that follows it."""
        self.conjuncts.append(self._negated(condition))
        if operator == "OR":
            self.alternatives.append(_joined("AND", self.conjuncts))
            self.conjuncts = []

    def close(self, condition: ConditionNode) -> ConditionNode:
        """Add the last condition; return them all as one."""
        self.conjuncts.append(self._negated(condition))
        self.alternatives.append(_joined("AND", self.conjuncts))
        return _joined("OR", self.alternatives)

    def _negated(self, condition: ConditionNode) -> ConditionNode:
        while self.negations:
            self.negations -= 1
            condition = NotNode(condition)
        return condition


def _joined(operator: str, conditions: list[ConditionNode]) -> ConditionNode:
    return conditions[0] if len(conditions) == 1 else LogicalNode(operator, conditions)


def _check_size(kind: str, text: str) -> None:
    size = len(text) if text.isascii() else len(text.encode())
    if size <= EXPRESSION_BYTES_MAX:
        return
    # For update expressions AWS's message does not mention the size.
    tail = "" if kind == "UpdateExpression" else f" expression size: {size}"
    raise invalid(kind, f"Expression size has exceeded the maximum allowed size;{tail}")
