"""Entities of a design: what kinds of items there are, how their keys are made, what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, final

from hashrange.toolkit.design.expectations import NO_VOLUME, Growth, Volume
from hashrange.toolkit.design.templates import KeyTemplate, parse_template
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.models import attributes_of_model

Model = TypeVar("Model")

AttributeType = Literal["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS", "ANY"]
AttributeFormat = Literal[
    "", "timestamp", "date", "epoch_seconds", "epoch_milliseconds", "uuid", "ulid", "sequence",
    "email", "number_text",
]  # fmt: skip
"""What the text or number of an attribute means.

`timestamp` is ISO 8601 text, `sequence` a number that only grows, `number_text` a number kept as
text.
"""


@final
@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an entity.

    `values` lists the values of an enumeration. `distinct` is the expected number of distinct
    values, `hottest_share` the share (0 to 1) of the items that have the most frequent one.
    `growth` is unbounded for a list, map, set or text that grows without end. `sensitive` marks
    personal or secret content, `encrypted` and `compressed` what the client does with it before it
    is stored, `offloaded` a large value that is kept in S3 with a reference in the item.
    """

    name: str
    type: AttributeType = "S"
    required: bool = True
    format: AttributeFormat = ""
    values: tuple[str, ...] = ()
    distinct: int | None = None
    hottest_share: float | None = None
    growth: Growth = "bounded"
    bytes_max: int | None = None
    sensitive: bool = False
    encrypted: bool = False
    compressed: bool = False
    offloaded: bool = False
    description: str = ""


@final
@dataclass(frozen=True)
class Entity(Generic[Model]):
    """A kind of item: its keys, its attributes and the rules the toolkit keeps for it.

    `keys` maps key attributes of the table and of its indexes to key templates (see
    `hashrange.toolkit.design.templates`). An index whose key attributes are left out does not
    contain the entity. A key template whose fields are absent in an item leaves the item out of
    that index: a sparse index. A key attribute that is an ordinary attribute of the entity need not
    be listed: its template is `{name}`.

    `label` is what items carry in the table's entity attribute, by default the name of the entity.

    `model` is the class items are returned as: a dataclass, a Pydantic model, or `dict`. Attributes
    are taken from it; those given here as well replace or extend them.

    `unique` names attributes no two items of the entity may share (kept by guard items in the same
    transaction). `version` names the number attribute for optimistic locking. `created` and
    `updated` name attributes the toolkit fills with the time. `ephemeral` says that items lose
    their meaning with time; `expires_after` is the number of seconds after which they expire, and
    fills the table's TTL attribute on put.
    """

    name: str
    keys: Mapping[str, str] = field(default_factory=dict, hash=False)
    model: type[Model] = dict  # type: ignore[assignment]  # the plain form of an item
    table: str = ""
    attributes: tuple[Attribute, ...] = ()
    volume: Volume = NO_VOLUME
    unique: tuple[str, ...] = ()
    version: str = ""
    created: str = ""
    updated: str = ""
    ephemeral: bool = False
    expires_after: int | None = None
    label: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        named = {attribute.name: attribute for attribute in self.attributes}
        derived = {
            name: Attribute(name, kind, required=required)
            for name, kind, required in attributes_of_model(self.model)
        }
        object.__setattr__(self, "attributes", tuple({**derived, **named}.values()))
        object.__setattr__(self, "keys", dict(self.keys))

    @property
    def label_text(self) -> str:
        """What items of the entity carry in the table's entity attribute."""
        return self.label or self.name

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute by name, or None if the entity does not declare it."""
        return next((each for each in self.attributes if each.name == name), None)

    def template(self, key_attribute: str) -> KeyTemplate | None:
        """Return the template of a key attribute.

        It is the one in `keys`, else `{name}` if the entity has an attribute of that name, else
        None: the entity is not in an index with that key.
        """
        text = self.keys.get(key_attribute)
        if text is not None:
            return parse_template(text)
        if self.attribute(key_attribute) is not None:
            return parse_template(f"{{{key_attribute}}}")
        return None

    def required_template(self, key_attribute: str) -> KeyTemplate:
        """Return the template of a key attribute; DesignError if there is none."""
        template = self.template(key_attribute)
        if template is None:
            raise DesignError(f"entity {self.name} has no key template for {key_attribute}")
        return template

    def matches(self, item: Mapping[str, Any], *key_attributes: str) -> bool:
        """Tell whether these key attributes of an item can have been made by this entity."""
        for name in key_attributes:
            template = self.template(name)
            if template is None or name not in item or template.parse(item[name]) is None:
                return False
        return True
