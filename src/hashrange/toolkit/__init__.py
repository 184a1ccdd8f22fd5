"""A design declared once, and the client that carries it out, on any DynamoDB endpoint.

The public names of the toolkit, loaded when they are first used: importing this package imports
neither boto3 nor anything of the Hashrange server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hashrange.toolkit.design.documents import design_to_toml as design_to_toml
    from hashrange.toolkit.design.documents import dump_design as dump_design
    from hashrange.toolkit.design.documents import load_design as load_design
    from hashrange.toolkit.design.documents import parse_design as parse_design
    from hashrange.toolkit.design.entities import Attribute as Attribute
    from hashrange.toolkit.design.entities import Entity as Entity
    from hashrange.toolkit.design.expectations import Budget as Budget
    from hashrange.toolkit.design.expectations import Rate as Rate
    from hashrange.toolkit.design.expectations import Volume as Volume
    from hashrange.toolkit.design.expectations import Waiver as Waiver
    from hashrange.toolkit.design.model import Design as Design
    from hashrange.toolkit.design.patterns import AccessPattern as AccessPattern
    from hashrange.toolkit.design.patterns import SortCondition as SortCondition
    from hashrange.toolkit.design.patterns import Step as Step
    from hashrange.toolkit.design.patterns import above as above
    from hashrange.toolkit.design.patterns import at_least as at_least
    from hashrange.toolkit.design.patterns import at_most as at_most
    from hashrange.toolkit.design.patterns import begins_with as begins_with
    from hashrange.toolkit.design.patterns import below as below
    from hashrange.toolkit.design.patterns import between as between
    from hashrange.toolkit.design.patterns import equals as equals
    from hashrange.toolkit.design.tables import AutoScaling as AutoScaling
    from hashrange.toolkit.design.tables import Capacity as Capacity
    from hashrange.toolkit.design.tables import Index as Index
    from hashrange.toolkit.design.tables import KeyAttribute as KeyAttribute
    from hashrange.toolkit.design.tables import Table as Table

_HOMES: Final = {
    "design.documents": ("design_to_toml", "dump_design", "load_design", "parse_design"),
    "design.entities": ("Attribute", "Entity"),
    "design.expectations": ("Budget", "Rate", "Volume", "Waiver"),
    "design.model": ("Design",),
    "design.patterns": (
        "AccessPattern", "SortCondition", "Step", "above", "at_least", "at_most", "begins_with",
        "below", "between", "equals",
    ),
    "design.tables": ("AutoScaling", "Capacity", "Index", "KeyAttribute", "Table"),
}  # fmt: skip
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
