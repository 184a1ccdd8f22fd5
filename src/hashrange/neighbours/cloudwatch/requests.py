"""What the operations of CloudWatch share: checks of times, periods and dimensions, and pages."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Any

from hashrange.metrics.queries import is_period
from hashrange.metrics.series import Series, make_series
from hashrange.metrics.store import DAY_SECONDS, FIVE_MINUTES, HOUR, MINUTE
from hashrange.neighbours.service import Parameters, Scope, ServiceError


def invalid_value(message: str) -> ServiceError:
    return ServiceError("InvalidParameterValueException", message)


def invalid_combination(message: str) -> ServiceError:
    return ServiceError("InvalidParameterCombinationException", message)


def missing_parameter(message: str) -> ServiceError:
    return ServiceError("MissingRequiredParameterException", message)


def validation_error(message: str) -> ServiceError:
    return ServiceError("ValidationException", message)


def moment(seconds: float) -> datetime:
    """Return a time as handlers give it to codecs."""
    return datetime.fromtimestamp(seconds, UTC)


def series_of(scope: Scope, metric: Parameters) -> Series:
    """Return the series that a request names by namespace, name and dimensions."""
    dimensions: dict[str, str] = {}
    for dimension in metric.get("Dimensions") or ():
        if dimension["Name"] in dimensions:
            raise invalid_value(
                "The parameter Dimensions must not contain two dimensions with the same name."
            )
        dimensions[dimension["Name"]] = dimension["Value"]
    return make_series(
        scope.account, scope.region, metric["Namespace"], metric["MetricName"], dimensions
    )


def show_dimensions(series: Series) -> list[Parameters]:
    """Return the dimensions of a series as answers have them."""
    return [{"Name": name, "Value": value} for name, value in series.dimensions]


def check_period(period: int) -> int:
    """Return a period that CloudWatch knows."""
    if not is_period(period):
        raise invalid_value("The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60.")
    return period


def read_span(scope: Scope, parameters: Parameters) -> tuple[int, int]:
    """Return the first and the last time asked for, the first rounded down as CloudWatch does."""
    start, end = parameters["StartTime"].timestamp(), parameters["EndTime"].timestamp()
    if start >= end:
        raise invalid_value("The parameter StartTime must be less than the parameter EndTime.")
    age = scope.clock.now() - start
    step = MINUTE if age < 15 * DAY_SECONDS else FIVE_MINUTES if age < 63 * DAY_SECONDS else HOUR
    return max(0, int(start) - int(start) % step), max(0, int(-(-end // 1)))


def read_token(parameters: Parameters, member: str = "NextToken") -> int:
    """Return where a page begins."""
    token = parameters.get(member)
    if token is None:
        return 0
    try:
        position = int(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error):
        position = -1
    if position < 0:
        raise ServiceError("InvalidNextToken", "Invalid nextToken")
    return position


def write_token(position: int) -> str:
    """Return the token of a page."""
    return base64.urlsafe_b64encode(str(position).encode()).decode()


def page(
    entries: list[Any], parameters: Parameters, size: int, member: str = "NextToken"
) -> tuple[list[Any], dict[str, str]]:
    """Return a page of entries, and the token of the next one if there is one."""
    begin = read_token(parameters, member)
    following = begin + size
    token = {member: write_token(following)} if following < len(entries) else {}
    return entries[begin:following], token
