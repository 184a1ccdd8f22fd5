"""Key conditions: conditions on key attributes, and the key range they select.

A key condition is parsed and checked without the table; `KeyCondition.bind` then fits it to the
key of a table or index.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NoReturn, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import (
    PREPARED_MAX,
    Binder,
    Check,
    NamePairs,
    Refused,
    Values,
    may_keep,
    run_checks,
)
from hashrange.expressions.conditions import bind_condition
from hashrange.expressions.nodes import (
    CallNode,
    ComparisonNode,
    ConditionNode,
    LogicalNode,
    NotNode,
    PathNode,
    ValueNode,
)
from hashrange.expressions.parser import Parser, too_many_operators
from hashrange.expressions.statics import check_condition
from hashrange.limits import EXPRESSION_OPERATORS_MAX
from hashrange.model.schema import KeyPart
from hashrange.model.values import Value

KIND: Final = "KeyConditionExpression"

_OPERATORS: Final = frozenset(("=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"))
_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@final
class KeyRange:
    """The keys a query reads: equalities, then perhaps one condition on the next sort part."""

    __slots__ = ("operands", "operator", "partition", "sort_equal")

    def __init__(
        self,
        partition: tuple[Value, ...],
        sort_equal: tuple[Value, ...],
        operator: str | None,
        operands: tuple[Value, ...],
    ) -> None:
        self.partition = partition
        self.sort_equal = sort_equal
        self.operator = operator
        self.operands = operands


@final
class KeyTest:
    """A condition on one key attribute."""

    __slots__ = ("attribute", "operands", "operator")

    def __init__(self, attribute: str, operator: str, operands: tuple[Value, ...]) -> None:
        self.attribute = attribute
        self.operator = operator
        self.operands = operands


@final
class KeyCondition:
    """Conditions on key attributes with their values, not yet tied to a key schema."""

    __slots__ = ("_tests",)

    def __init__(self, tests: dict[str, KeyTest]) -> None:
        self._tests = tests

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes it has conditions on."""
        return frozenset(self._tests)

    def equal_to(self, attribute: str) -> Value | None:
        """Return the value that an attribute must be equal to, if there is one."""
        test = self._tests.get(attribute)
        return test.operands[0] if test is not None and test.operator == "=" else None

    def bind(
        self,
        partition: tuple[KeyPart, ...],
        sort: tuple[KeyPart, ...],
        index_name: str | None = None,
    ) -> KeyRange:
        """Fit the conditions to the key schema of a table, or of the index of this name."""
        tests = self._tests
        parts = len(partition) + len(sort)
        if len(tests) > parts:
            raise ValidationException(
                f"The number of query conditions ({len(tests)}) exceeds the number of key "
                f"attributes defined in the schema ({parts})"
            )
        for part in partition:
            if part.name not in tests:
                raise _missed(part)
        for part in partition:
            _check_test(tests[part.name], part, index_name)
            if tests[part.name].operator != "=":
                raise ValidationException("Query key condition not supported")
        self._check_sort(len(partition), sort)
        for part in sort:
            if part.name in tests:
                _check_test(tests[part.name], part, index_name)
        return self._range(partition, sort)

    def _check_sort(self, fixed: int, sort: tuple[KeyPart, ...]) -> None:
        """Check that the conditions on the sort key make one range."""
        tests = self._tests
        named = [part for part in sort if part.name in tests]
        if fixed + len(named) < len(tests):
            # Some condition is on another attribute; AWS names the first key attribute without one.
            raise _missed(next(part for part in sort if part.name not in tests))
        if not named:
            return
        last = named[-1]
        loose = [
            part.name
            for part in sort[: sort.index(last)]
            if part.name not in tests or tests[part.name].operator != "="
        ]
        if loose:
            raise ValidationException(
                f"RANGE key attributes {', '.join(loose)} must have equality conditions specified "
                f"in the query because a condition is present on key attribute {last.name}"
            )

    def _range(self, partition: tuple[KeyPart, ...], sort: tuple[KeyPart, ...]) -> KeyRange:
        tests = self._tests
        partition_values = tuple([tests[part.name].operands[0] for part in partition])
        equal: list[Value] = []
        for part in sort:
            test = tests.get(part.name)
            if test is None:
                break
            if test.operator != "=":
                return KeyRange(partition_values, tuple(equal), test.operator, test.operands)
            equal.append(test.operands[0])
        return KeyRange(partition_values, tuple(equal), None, ())


def _missed(part: KeyPart) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {part.name}")


def _check_test(test: KeyTest, part: KeyPart, index_name: str | None) -> None:
    """Refuse a condition that does not fit the type of the key attribute."""
    if test.operator not in _OPERATORS:
        raise ValidationException("Attempted conditional constraint is not an indexable operation")
    for operand in test.operands:
        if part.type not in operand:
            raise ValidationException(
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            )
        if not operand[part.type]:
            kind = "string" if part.type == "S" else "binary"
            text = f"The AttributeValue for a key attribute cannot contain an empty {kind} value."
            raise ValidationException(
                f"One or more parameter values are not valid. {text} Key: {part.name}"
                if index_name is None
                else "One or more parameter values are not valid. A value specified for a "
                f"secondary index key is not supported. {text} IndexName: {index_name}, "
                f"IndexKey: {part.name}"
            )


@final
class _NamedTest:
    """A condition on one key attribute whose operands are names of values."""

    __slots__ = ("attribute", "operands", "operator")

    def __init__(self, attribute: str, operator: str, operands: tuple[str, ...]) -> None:
        self.attribute = attribute
        self.operator = operator
        self.operands = operands


@final
class PreparedKeyCondition:
    """A key condition expression bound to its names."""

    __slots__ = ("_checks", "_structure", "_tests", "used_names", "used_values")

    def __init__(
        self, binder: Binder, tests: tuple[_NamedTest, ...], structure: ValidationException | None
    ) -> None:
        self._checks: tuple[Check, ...] = tuple(binder.checks)
        self._tests = tests
        # The error of an invalid key condition; AWS reports it after it has bound the filter.
        self._structure = structure
        self.used_names = frozenset(binder.used_names)
        self.used_values = frozenset(binder.used_values)

    def check(self, values: Values) -> None:
        """Check the values."""
        run_checks(self._checks, values)

    def bind(self, values: Values) -> KeyCondition:
        """Return the key condition for checked values."""
        if self._structure is not None:
            raise ValidationException(self._structure.message)
        return KeyCondition(
            {
                test.attribute: KeyTest(
                    test.attribute,
                    test.operator,
                    tuple([values[operand] for operand in test.operands]),
                )
                for test in self._tests
            }
        )


def prepare_key_condition(text: str, names: NamePairs) -> PreparedKeyCondition:
    """Parse a key condition expression and bind it to its names, or return it from the cache."""
    return _kept(text, names) if may_keep(text, names) else _prepare(text, names)


def _prepare(text: str, names: NamePairs) -> PreparedKeyCondition:
    parser = Parser(KIND, text)
    node = parser.condition()
    check_condition(KIND, node)
    binder = Binder(KIND, names)
    tests: dict[str, _NamedTest] = {}
    structure = None
    try:
        bind_condition(binder, node)
        if parser.operators > EXPRESSION_OPERATORS_MAX:
            raise too_many_operators(KIND)
    except ValidationException as error:
        binder.checks.append(Refused(error.message))
    else:
        try:
            _collect(binder, node, tests)
        except ValidationException as error:
            structure = error
    return PreparedKeyCondition(binder, tuple(tests.values()), structure)


_kept = lru_cache(PREPARED_MAX)(_prepare)


def _collect(binder: Binder, node: ConditionNode, tests: dict[str, _NamedTest]) -> None:
    """Collect the conditions of a tree by attribute, or raise AWS's error."""
    if isinstance(node, LogicalNode) and node.operator == "AND":
        for condition in node.conditions:
            _collect(binder, condition, tests)
        return
    operator = _operator(node)
    if not isinstance(node, ComparisonNode | CallNode) or operator not in _OPERATORS:
        raise ValidationException(f"Invalid operator used in {KIND}: {operator}")
    test = _test(binder, operator, node)
    if test.attribute in tests:
        raise ValidationException(
            f"Invalid {KIND}: KeyConditionExpressions must only contain one condition per key"
        )
    tests[test.attribute] = test


def _operator(node: ConditionNode) -> str:
    if isinstance(node, NotNode):
        return "NOT"
    return node.function if isinstance(node, CallNode) else node.operator


def _test(binder: Binder, operator: str, node: ComparisonNode | CallNode) -> _NamedTest:
    first = node.operands[0]
    if operator in ("BETWEEN", "begins_with") and isinstance(first, ValueNode):
        _refuse(f"{operator} operator must have the key attribute as its first operand")
    attribute: str | None = None
    values: list[str] = []
    for operand in node.operands:
        if isinstance(operand, ValueNode):
            values.append(operand.name)
            continue
        if not isinstance(operand, PathNode):
            raise ValidationException("KeyConditionExpressions cannot contain nested operations")
        if attribute is not None:
            _refuse("Multiple attribute names used in one condition")
        path = binder.path(operand)
        if len(path) > 1:
            raise ValidationException(
                "KeyConditionExpressions cannot have conditions on nested attributes"
            )
        attribute = path[0]
    if attribute is None:
        _refuse("No key attribute specified")
    if isinstance(first, ValueNode):
        operator = _MIRRORED[operator]
    return _NamedTest(attribute, operator, tuple(values))


def _refuse(reason: str) -> NoReturn:
    raise ValidationException(f"Invalid condition in {KIND}: {reason}")
