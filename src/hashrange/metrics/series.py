"""The identity of a metric: account, region, namespace, name and dimensions."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final, NamedTuple

DYNAMODB: Final = "AWS/DynamoDB"
"""The namespace of the database's own metrics."""

LAMBDA: Final = "AWS/Lambda"
INTERNAL: Final = "Hashrange"
"""The namespace of what Hashrange measures and AWS does not."""

Dimensions = tuple[tuple[str, str], ...]
"""Names and values, in the order of the names."""


class Series(NamedTuple):
    """One metric. Two metrics with other dimensions are different metrics, as in CloudWatch."""

    account: str
    region: str
    namespace: str
    name: str
    dimensions: Dimensions

    @property
    def id(self) -> bytes:
        """The name of the metric in the keys of rows."""
        text = "\x00".join([*self[:4], *(part for pair in self.dimensions for part in pair)])
        return blake2b(text.encode(), digest_size=16).digest()


def make_series(
    account: str, region: str, namespace: str, name: str, dimensions: dict[str, str]
) -> Series:
    """Return a metric by its dimensions in any order."""
    return Series(account, region, namespace, name, tuple(sorted(dimensions.items())))


def metric_series(world: tuple[str, str], metric: dict[str, Any]) -> Series:
    """Return the series of a Metric member."""
    dimensions = {pair["Name"]: pair["Value"] for pair in metric.get("Dimensions") or ()}
    return make_series(*world, metric["Namespace"], metric["MetricName"], dimensions)
