"""The operations on insight rules: those of DynamoDB, which no client can change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import orjson

from hashrange.metrics.insight_reports import InsightReports, Report, Rule
from hashrange.metrics.store import MINUTE
from hashrange.neighbours.cloudwatch.requests import (
    invalid_value,
    moment,
    page,
    read_span,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_PAGE: Final = 500
_CONTRIBUTORS_MAX: Final = 100
_METRICS: Final = (
    *("UniqueContributors", "MaxContributorValue", "SampleCount", "Sum"),
    *("Minimum", "Maximum", "Average"),
)
_SCHEMA: Final = {"Name": "CloudWatchLogRule", "Version": 1}


def _definition(rule: Rule) -> str:
    """Return the definition of a rule, in the form of those on logs."""
    value = "ThrottleCount" if rule.kind[2] == "T" else "ConsumedThroughputUnits"
    contribution = {"Keys": [f"$.{label}" for label in rule.labels], "ValueOf": f"$.{value}"}
    document = {"Schema": _SCHEMA, "AggregateOn": "Sum", "Contribution": contribution}
    return orjson.dumps(document).decode()


@final
class InsightRules:
    """Rules of contributor insights and their reports."""

    def __init__(self, reports: InsightReports) -> None:
        self._reports = reports

    async def describe_rules(self, scope: Scope, parameters: Parameters) -> Result:
        rules = await self._reports.rules((scope.account, scope.region))
        shown, token = page(rules, parameters, parameters.get("MaxResults") or _PAGE)
        described = [
            {
                "Name": rule.name,
                "State": "ENABLED",
                "Schema": orjson.dumps(_SCHEMA).decode(),
                "Definition": _definition(rule),
                "ManagedRule": True,
            }
            for rule in shown
        ]
        return {"InsightRules": described, **token}

    async def get_report(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the heaviest contributors of a rule, and metrics about them."""
        world = (scope.account, scope.region)
        name = parameters["RuleName"]
        rules = {rule.name: rule for rule in await self._reports.rules(world)}
        if name not in rules:
            raise ServiceError(
                "ResourceNotFoundException", f"The rule {name} does not exist", status=404
            )
        period, count = parameters["Period"], parameters.get("MaxContributorCount", 10)
        if period < MINUTE or period % MINUTE:
            raise invalid_value("The parameter Period must be a multiple of 60.")
        if not 1 <= count <= _CONTRIBUTORS_MAX:
            raise invalid_value(f"MaxContributorCount must be from 1 to {_CONTRIBUTORS_MAX}.")
        wanted = parameters.get("Metrics") or []
        for metric in wanted:
            if metric not in _METRICS:
                raise invalid_value(f"The value {metric} for parameter Metrics is invalid.")
        if parameters.get("OrderBy", "Sum") not in ("Sum", "Maximum"):
            raise invalid_value("OrderBy must be Sum or Maximum.")
        span = read_span(scope, parameters)
        report = await self._reports.report(world, rules[name], span, period, count)
        contributors = [_show(contributor) for contributor in report.contributors]
        if parameters.get("OrderBy") == "Maximum":
            contributors.sort(key=_largest, reverse=True)
        return {
            "KeyLabels": rules[name].labels,
            "AggregationStatistic": "Sum",
            "AggregateValue": report.total,
            "ApproximateUniqueCount": report.unique,
            "Contributors": contributors,
            "MetricDatapoints": _datapoints(report, wanted),
        }

    async def refuse(self, scope: Scope, parameters: Parameters) -> Result:
        raise invalid_value(
            "Only the rules of DynamoDB are served: change them with UpdateContributorInsights."
        )

    def operations(self) -> Mapping[str, Handler]:
        return {
            "DeleteInsightRules": self.refuse,
            "DescribeInsightRules": self.describe_rules,
            "DisableInsightRules": self.refuse,
            "EnableInsightRules": self.refuse,
            "GetInsightRuleReport": self.get_report,
            "PutInsightRule": self.refuse,
        }


def _show(contributor: tuple[tuple[str, ...], float, dict[int, float]]) -> Result:
    key, weight, by_period = contributor
    points = [
        {"Timestamp": moment(time), "ApproximateValue": value} for time, value in by_period.items()
    ]
    return {"Keys": list(key), "ApproximateAggregateValue": weight, "Datapoints": points}


def _largest(contributor: Result) -> float:
    return max((point["ApproximateValue"] for point in contributor["Datapoints"]), default=0.0)


def _datapoints(report: Report, wanted: list[str]) -> list[Result]:
    points: list[Result] = []
    for time, summary in sorted(report.periods.items()):
        heaviest = summary.heaviest(1)
        weights = [weight for weight, _ in summary.weights.values()]
        known: dict[str, Any] = {
            "UniqueContributors": float(len(weights)),
            "MaxContributorValue": heaviest[0][1] if heaviest else 0.0,
            "SampleCount": float(len(weights)),
            "Sum": summary.total,
            "Minimum": min(weights, default=0.0),
            "Maximum": max(weights, default=0.0),
            "Average": summary.total / len(weights) if weights else 0.0,
        }
        points.append({"Timestamp": moment(time)} | {name: known[name] for name in wanted})
    return points
