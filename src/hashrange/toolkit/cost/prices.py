"""Prices: a dated data file, one section per region, which a file of the user can replace.

`prices.json` beside this module has the prices of one region; docs/toolkit/cost.md says which of
them are confirmed. A file given by the user has the same form, and no region is taken from
another: prices differ too much.
Reserved capacity is priced per 100 units: an upfront payment for the term, and an hourly rate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, final

from hashrange.toolkit.errors import DesignError

HOURS_PER_MONTH: Final = 730
SECONDS_PER_MONTH: Final = HOURS_PER_MONTH * 3600
RESERVED_UNITS: Final = 100
DEFAULT_REGION: Final = "us-east-1"


@final
@dataclass(frozen=True, slots=True)
class ClassPrices:
    """Prices of a table class."""

    read_request_million: float
    write_request_million: float
    read_unit_hour: float
    write_unit_hour: float
    storage_gb_month: float


@final
@dataclass(frozen=True, slots=True)
class ReservedPrices:
    """Prices of 100 reserved units for a term."""

    read_upfront: float
    read_hour: float
    write_upfront: float
    write_hour: float


@final
@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a region at a date."""

    region: str
    as_of: str
    currency: str
    standard: ClassPrices
    infrequent: ClassPrices
    point_in_time_recovery_gb_month: float
    reserved: Mapping[int, ReservedPrices]

    def of_class(self, table_class: str) -> ClassPrices:
        """Return the prices of a table class by DynamoDB's name for it."""
        return self.infrequent if table_class == "STANDARD_INFREQUENT_ACCESS" else self.standard

    def request_cost(self, read_units: float, write_units: float, table_class: str) -> float:
        """Return what request units cost on demand."""
        prices = self.of_class(table_class)
        return (
            read_units * prices.read_request_million + write_units * prices.write_request_million
        ) / 1_000_000


def load_prices(region: str = DEFAULT_REGION, path: str | Path | None = None) -> Prices:
    """Return the prices of a region, from the file of the user if there is one."""
    if path is None:
        text = resources.files(__package__).joinpath("prices.json").read_text(encoding="utf-8")
    else:
        text = Path(path).read_text(encoding="utf-8")
    document = json.loads(text)
    section = document.get("regions", {}).get(region)
    if section is None:
        known = ", ".join(document.get("regions", {})) or "none"
        raise DesignError(f"there are no prices for {region} (known: {known}); give a price file")
    try:
        return _prices(region, document, section)
    except (KeyError, TypeError) as error:
        raise DesignError(f"the prices of {region} are incomplete: {error}") from error


def _prices(region: str, document: Mapping[str, Any], section: Mapping[str, Any]) -> Prices:
    return Prices(
        region=region,
        as_of=document["as_of"],
        currency=document["currency"],
        standard=ClassPrices(**section["STANDARD"]),
        infrequent=ClassPrices(**section["STANDARD_INFREQUENT_ACCESS"]),
        point_in_time_recovery_gb_month=section["point_in_time_recovery_gb_month"],
        reserved={int(y): ReservedPrices(**each) for y, each in section["reserved"].items()},
    )
