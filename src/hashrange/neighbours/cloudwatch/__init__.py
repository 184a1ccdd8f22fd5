"""Amazon CloudWatch: metrics of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.neighbours.service import Handler, Service


def _handlers() -> Mapping[str, Handler]:
    from hashrange.neighbours.cloudwatch.operations import OPERATIONS

    return OPERATIONS


SERVICE: Final = Service(
    "cloudwatch",
    _handlers,
    api_version="2010-08-01",
    signing_name="monitoring",
    target_prefix="GraniteServiceVersion20100801",
)
