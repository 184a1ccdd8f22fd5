"""The state of an alarm from the points of its metric, as CloudWatch's documentation decides it.

An alarm looks at somewhat more points than it needs, the evaluation range. If enough of them have
values, the newest decide and gaps do not matter. Otherwise as many gaps as are needed count as the
alarm's treatment of missing data says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

OK: Final = "OK"
ALARM: Final = "ALARM"
INSUFFICIENT: Final = "INSUFFICIENT_DATA"

MISSING: Final = "missing"
IGNORE: Final = "ignore"
BREACHING: Final = "breaching"
NOT_BREACHING: Final = "notBreaching"
TREATMENTS: Final = (BREACHING, NOT_BREACHING, IGNORE, MISSING)

RANGE_EXTRA_POINTS: Final = 2
"""How many points more than the evaluation periods an alarm looks at."""

COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanOrEqualToThreshold": operator.le,
    "LessThanThreshold": operator.lt,
}
PHRASES: Final = {
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "GreaterThanThreshold": "greater than",
    "LessThanOrEqualToThreshold": "less than or equal to",
    "LessThanThreshold": "less than",
}


def decide(
    breaches: Sequence[bool | None], periods: int, to_alarm: int, treatment: str, current: str
) -> str:
    """Return the state of an alarm.

    `breaches` is the evaluation range, oldest first: whether each point breaches the threshold,
    None where there is no point. `to_alarm` of the last `periods` points must breach.
    """
    real = [breach for breach in breaches if breach is not None]
    if len(real) >= periods:
        return ALARM if sum(real[-periods:]) >= to_alarm else OK
    breaching = sum(real)
    if treatment == BREACHING:
        return ALARM if breaching + periods - len(real) >= to_alarm else OK
    if breaching >= to_alarm:
        return ALARM
    if treatment == NOT_BREACHING:
        return OK
    if treatment == IGNORE:
        return OK if breaching < len(real) else current
    if not real:
        return INSUFFICIENT
    return ALARM if _is_premature(breaches, to_alarm) else OK


def _is_premature(breaches: Sequence[bool | None], to_alarm: int) -> bool:
    """Tell whether everything that is known breaches, and has done so for long enough."""
    oldest = next(place for place, breach in enumerate(breaches) if breach is not None)
    age = len(breaches) - oldest
    return age >= to_alarm and all(breach is not False for breach in breaches)


def samples_needed(share: float) -> float:
    """Return how many samples a percentile needs to be more than chance."""
    return 10 / (1 - share) if share >= 0.5 and share < 1 else 10 / share if share > 0 else 0.0
