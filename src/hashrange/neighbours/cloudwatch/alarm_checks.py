"""Checks of alarm definitions, with the errors of CloudWatch."""

from __future__ import annotations

from typing import Any, Final

from hashrange.alarms.rules import COMPARISONS, TREATMENTS
from hashrange.metrics.math.parser import MathError
from hashrange.metrics.queries import check_queries, uses_search
from hashrange.metrics.statistics import PLAIN, find_statistic
from hashrange.metrics.store import DAY_SECONDS, HOUR, MINUTE
from hashrange.neighbours.cloudwatch.requests import (
    invalid_combination,
    invalid_value,
    missing_parameter,
    validation_error,
)
from hashrange.neighbours.service import Parameters

_FLAT: Final = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Period", "Dimensions")
_NOT_SERVED: Final = (
    *("ThresholdMetricId", "EvaluationWindow", "WarmUpConfiguration", "EvaluationCriteria"),
    *("EvaluationInterval", "ActionConfiguration"),
)
_METRICS_MAX: Final = 10
_SHORT_PERIODS: Final = (10, 20, 30)
_ACTIONS: Final = ("arn:aws:sns:", "arn:aws:lambda:", "arn:aws:autoscaling:", "http://", "https://")


def check_actions(parameters: Parameters) -> None:
    """Refuse actions that nothing here can carry out."""
    for member in ("OKActions", "AlarmActions", "InsufficientDataActions"):
        for action in parameters.get(member) or ():
            if not action.startswith(_ACTIONS):
                raise validation_error(f"Invalid arn syntax: {action}")


def check_alarm(parameters: Parameters) -> None:
    """Refuse what cannot be a metric alarm."""
    for member in _NOT_SERVED:
        if member in parameters:
            raise invalid_value(f"The parameter {member} is not supported.")
    if "ComparisonOperator" not in parameters:
        raise missing_parameter("The parameter ComparisonOperator is required.")
    if parameters["ComparisonOperator"] not in COMPARISONS:
        raise invalid_value("Anomaly detection is not supported: compare with a threshold.")
    if "Threshold" not in parameters:
        raise missing_parameter("The parameter Threshold is required.")
    if "EvaluationPeriods" not in parameters:
        raise missing_parameter("The parameter EvaluationPeriods is required.")
    periods = parameters["EvaluationPeriods"]
    if parameters.get("DatapointsToAlarm", 1) > periods:
        raise validation_error("DatapointsToAlarm must be less than or equal to EvaluationPeriods")
    treatment = parameters.get("TreatMissingData")
    if treatment is not None and treatment not in TREATMENTS:
        raise validation_error(
            f"The value {treatment} is not supported for TreatMissingData parameter. Supported "
            "values are [breaching, notBreaching, ignore, missing]."
        )
    if parameters.get("EvaluateLowSampleCountPercentile") not in (None, "evaluate", "ignore"):
        raise validation_error(
            "Option for EvaluateLowSampleCountPercentile must be either 'evaluate' or 'ignore'."
        )
    check_actions(parameters)
    period = _check_queries(parameters) if "Metrics" in parameters else _check_metric(parameters)
    _check_span(period, periods)


def _check_span(period: int, periods: int) -> None:
    days = 7 if period >= HOUR else 1
    if period * periods > days * DAY_SECONDS:
        raise validation_error(
            f"Metrics cannot be checked across more than {'a week' if days == 7 else 'a day'} "
            f"(EvaluationPeriods * Period must be <= {days * DAY_SECONDS})."
        )


def _check_metric(parameters: Parameters) -> int:
    for member in ("MetricName", "Namespace", "Period"):
        if member not in parameters:
            raise missing_parameter(f"The parameter {member} is required.")
    if ("Statistic" in parameters) == ("ExtendedStatistic" in parameters):
        raise invalid_combination(
            "Exactly one of the parameters Statistic and ExtendedStatistic must be specified."
        )
    extended = parameters.get("ExtendedStatistic")
    if extended is not None and (extended in PLAIN or find_statistic(extended) is None):
        raise validation_error(f"The value {extended} for parameter ExtendedStatistic is invalid.")
    return _check_period(parameters["Period"])


def _check_period(period: int) -> int:
    if period not in _SHORT_PERIODS and (period < MINUTE or period % MINUTE):
        raise validation_error("Period must be 10, 20, 30 or a multiple of 60")
    return period


def _check_queries(parameters: Parameters) -> int:
    for member in _FLAT:
        if member in parameters:
            raise invalid_combination(
                f"The parameters Metrics and {member} are mutually exclusive and you have "
                "specified both."
            )
    queries: list[dict[str, Any]] = parameters["Metrics"]
    try:
        check_queries(queries)
    except MathError as error:
        raise validation_error(str(error)) from error
    if any("Expression" in query and uses_search(query) for query in queries):
        raise validation_error("SEARCH is not supported on Metric Alarms.")
    metrics = [query["MetricStat"] for query in queries if "MetricStat" in query]
    if len(metrics) > _METRICS_MAX:
        raise validation_error(f"An alarm can be based on {_METRICS_MAX} metrics at most.")
    if sum(query.get("ReturnData", True) for query in queries) != 1:
        raise validation_error("Exactly one element of the metrics list should return data.")
    periods = {_check_period(stat["Period"]) for stat in metrics}
    if len(periods) > 1:
        raise validation_error("All metrics of an alarm must have the same period.")
    if not periods:
        raise validation_error("An alarm must be based on at least one metric.")
    return next(iter(periods))
