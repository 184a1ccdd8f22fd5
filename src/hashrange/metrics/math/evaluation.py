"""Computes expressions of metric math."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

from hashrange.metrics.math.functions import FUNCTIONS
from hashrange.metrics.math.parser import Array, Call, Id, MathError, Node, Number, Text
from hashrange.metrics.math.values import TimeSeries, Value, Window, as_list, combine

_KEYWORDS: Final = frozenset(
    {"REPEAT", "LINEAR", "ASC", "DESC", "SUM", "AVG", "MIN", "MAX", "STDDEV"}
)


def _divide(left: float, right: float) -> float | None:
    return None if right == 0 else left / right


def _power(left: float, right: float) -> float | None:
    try:
        result = left**right
    except (OverflowError, ZeroDivisionError):
        return None
    return result if isinstance(result, float) else None


def _truth(compare: Callable[[float, float], bool]) -> Callable[[float, float], float]:
    return lambda left, right: 1.0 if compare(left, right) else 0.0


_OPERATORS: Final[dict[str, Callable[[float, float], float | None]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "^": _power,
    "==": _truth(operator.eq),
    "!=": _truth(operator.ne),
    "<": _truth(operator.lt),
    "<=": _truth(operator.le),
    ">": _truth(operator.gt),
    ">=": _truth(operator.ge),
    "&&": _truth(lambda left, right: bool(left) and bool(right)),
    "||": _truth(lambda left, right: bool(left) or bool(right)),
}


_INNER: Final = frozenset({"METRICS", "negate", *_OPERATORS})


def is_known(name: str) -> bool:
    """Tell whether there is a function or an operator of a name."""
    return name in _INNER or name in FUNCTIONS


def evaluate(node: Node, known: Mapping[str, Value], metrics: list[str], window: Window) -> Value:
    """Return the value of an expression.

    `known` are the metrics and expressions it may name, `metrics` the ids of those that are
    metrics, which METRICS() returns.
    """
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Text):
        return node.value
    if isinstance(node, Id):
        if node.name in known:
            return known[node.name]
        if node.name in _KEYWORDS:
            return node.name
        raise MathError(f"Id '{node.name}' is not known")
    if isinstance(node, Array):
        members = [evaluate(member, known, metrics, window) for member in node.members]
        return [series for member in members for series in as_list(member, window)]
    if node.name == "METRICS":
        return _metrics(node, known, metrics, window)
    arguments = [evaluate(member, known, metrics, window) for member in node.arguments]
    if node.name == "negate":
        return combine(0.0, arguments[0], operator.sub)
    if node.name in _OPERATORS:
        return combine(arguments[0], arguments[1], _OPERATORS[node.name])
    function = FUNCTIONS.get(node.name)
    if function is None:
        raise MathError(f"The function {node.name} is not supported")
    try:
        return function(window, arguments)
    except (ValueError, IndexError) as error:
        raise MathError(f"The arguments of {node.name} do not suit it") from error


def _metrics(
    node: Call, known: Mapping[str, Value], metrics: list[str], window: Window
) -> list[TimeSeries]:
    """Return the metrics, or those whose id contains a text."""
    part = ""
    if node.arguments:
        argument = node.arguments[0]
        if len(node.arguments) > 1 or not isinstance(argument, Text):
            raise MathError("METRICS takes nothing or a text")
        part = argument.value
    return [series for id in metrics if part in id for series in as_list(known[id], window)]
