"""Keys as people type them: values by the types of the table's key, and ranges of sort keys.

    Nina                 equal to
    F*                   begins with
    10..20               between, both ends included
    >5  >=5  <5  <=5     compared

A backslash in front takes the rest as it stands: \\>5 is the text ">5". The keys of a new table are
`NAME`, for text, or `NAME:S`, `NAME:N`, `NAME:B`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.cli.data.plain_json import PlainJsonError
from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.values import Wire, number_of, to_wire

_COMPARED: Final = re.compile(r"(<=|>=|<|>)(.*)", re.DOTALL)


def key_attributes(texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of CreateTable for a partition key and perhaps a sort key."""
    definitions = []
    for text in texts:
        name, colon, kind = text.rpartition(":")
        if not colon:
            name, kind = text, "S"
        if not name or kind not in ("S", "N", "B"):
            raise PlainJsonError(f"{text}: a key is NAME, NAME:S, NAME:N or NAME:B")
        definitions.append({"AttributeName": name, "AttributeType": kind})
    schema = [
        {"AttributeName": part["AttributeName"], "KeyType": role}
        for part, role in zip(definitions, ("HASH", "RANGE"), strict=False)
    ]
    return {"AttributeDefinitions": definitions, "KeySchema": schema}


@final
@dataclass(frozen=True)
class KeySchema:
    """The key attributes of a table or index, with their types."""

    partition: str
    sort: str | None
    types: dict[str, str]

    @classmethod
    def of(cls, table: dict[str, Any], index: str | None = None) -> KeySchema:
        """Return the key schema in a table's description."""
        found = table
        if index is not None:
            indexes = [
                *table.get("GlobalSecondaryIndexes", ()),
                *table.get("LocalSecondaryIndexes", ()),
            ]
            named = [each for each in indexes if each["IndexName"] == index]
            if not named:
                raise PlainJsonError(f"the table has no index {index}")
            found = named[0]
        names = {part["KeyType"]: part["AttributeName"] for part in reversed(found["KeySchema"])}
        types = {
            part["AttributeName"]: part["AttributeType"] for part in table["AttributeDefinitions"]
        }
        return cls(names["HASH"], names.get("RANGE"), types)

    def value(self, name: str, text: str) -> Wire:
        """Return a typed text as a value of a key attribute."""
        kind = self.types[name]
        if kind == "S":
            return {"S": text}
        if kind == "B":
            return {"B": text.encode()}
        try:
            return to_wire(number_of(text))
        except (ArithmeticError, ConversionError) as error:
            raise PlainJsonError(f"{name} is a number, and {text!r} is none") from error

    def key(self, texts: list[str]) -> dict[str, Wire]:
        """Return the key of one item."""
        names = [self.partition] if self.sort is None else [self.partition, self.sort]
        if len(texts) != len(names):
            raise PlainJsonError(f"the key of an item is {' and '.join(names)}")
        return {name: self.value(name, text) for name, text in zip(names, texts, strict=True)}

    def condition(self, partition: str, sort: str | None) -> dict[str, Any]:
        """Return the parameters of a Query for a partition and a range of it."""
        names = {"#p": self.partition}
        values = {":p": self.value(self.partition, partition)}
        text = "#p = :p"
        if sort is not None:
            if self.sort is None:
                raise PlainJsonError("there is no sort key here")
            names["#s"] = self.sort
            form, parts = _range_of(sort)
            for number, part in enumerate(parts):
                values[f":s{number}"] = self.value(self.sort, part)
            text += f" AND {form}"
        return {
            "KeyConditionExpression": text,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }


def _range_of(text: str) -> tuple[str, list[str]]:
    """Return the condition for a range of sort keys, and the values in it."""
    if text.startswith("\\"):
        return "#s = :s0", [text[1:]]
    compared = _COMPARED.fullmatch(text)
    if compared is not None:
        return f"#s {compared[1]} :s0", [compared[2].strip()]
    low, between, high = text.partition("..")
    if between and low and high:
        return "#s BETWEEN :s0 AND :s1", [low, high]
    if text.endswith("*"):
        return "begins_with(#s, :s0)", [text[:-1]]
    return "#s = :s0", [text]
