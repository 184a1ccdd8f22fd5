"""Random requests in the parameters that expressions have replaced."""

from random import Random
from typing import Any

from tests.differential import values
from tests.differential.tables import Key, draw_key_value

OPERATORS = {
    **dict.fromkeys(("EQ", "NE", "LT", "LE", "GT", "GE", "CONTAINS", "NOT_CONTAINS"), 1),
    "BEGINS_WITH": 1,
    "BETWEEN": 2,
    "IN": 2,
    "NULL": 0,
    "NOT_NULL": 0,
}
SORT_OPERATORS = ("EQ", "LT", "LE", "GT", "GE", "BEGINS_WITH", "BETWEEN")


def draw_filter(random: Random) -> dict[str, Any]:
    """Return QueryFilter or ScanFilter, or the operator form of Expected."""
    found = {}
    for name in random.sample(sorted(values.ATTRIBUTES), random.choice((1, 1, 2, 3))):
        found[name] = draw_comparison(random, name)
    return found


def draw_comparison(random: Random, name: str) -> dict[str, Any]:
    operator = random.choice(sorted(OPERATORS))
    count = OPERATORS[operator]
    if random.random() < 0.04:
        count = random.choice((0, 1, 2, 3))
    kind = values.ATTRIBUTES[name]
    if operator in ("CONTAINS", "NOT_CONTAINS"):
        kind = {"SS": "S", "NS": "N", "BS": "B"}.get(kind, kind)
    if random.random() < 0.05:
        kind = "*"
    condition: dict[str, Any] = {"ComparisonOperator": operator}
    arguments = [values.draw_value(random, kind) for _ in range(count)]
    if operator == "BETWEEN" and kind in ("S", "N", "B"):
        arguments.sort(key=lambda v: float(v["N"]) if kind == "N" else str(v[kind]))
    if arguments or random.random() < 0.1:
        condition["AttributeValueList"] = arguments
    return condition


def draw_expected(random: Random) -> dict[str, Any]:
    """Return Expected in either form."""
    if random.random() < 0.4:
        return draw_filter(random)
    found: dict[str, Any] = {}
    for name in random.sample(sorted(values.ATTRIBUTES), random.choice((1, 1, 2))):
        roll = random.random()
        if roll < 0.45:
            found[name] = {"Value": values.draw_attribute(random, name)}
        elif roll < 0.7:
            found[name] = {"Exists": False}
        elif roll < 0.9:
            found[name] = {"Exists": True, "Value": values.draw_attribute(random, name)}
        elif roll < 0.95:
            found[name] = {"Exists": False, "Value": values.draw_attribute(random, name)}
        else:
            found[name] = {"Exists": True}
    return found


def draw_attribute_updates(random: Random) -> dict[str, Any]:
    """Return AttributeUpdates."""
    found: dict[str, Any] = {}
    for name in random.sample(sorted(values.ATTRIBUTES), random.choice((1, 1, 2, 3))):
        kind = values.ATTRIBUTES[name]
        action = random.choice(("PUT", "PUT", "DELETE", "ADD"))
        if action == "ADD" and kind not in ("N", "SS", "NS", "BS", "L") and random.random() < 0.8:
            action = "PUT"
        update: dict[str, Any] = {"Action": action}
        if action != "DELETE" or (kind in ("SS", "NS", "BS") and random.random() < 0.6):
            update["Value"] = values.draw_attribute(random, name)
        if random.random() < 0.03:
            update.pop("Value", None)
        found[name] = update
    return found


def draw_key_conditions(random: Random, key: Key) -> dict[str, Any]:
    """Return KeyConditions."""
    found: dict[str, Any] = {
        key.partition: {
            "ComparisonOperator": "EQ" if random.random() < 0.97 else "GT",
            "AttributeValueList": [draw_key_value(random, key.partition_type)],
        }
    }
    if key.sort and key.sort_type and random.random() < 0.65:
        operator = random.choice(SORT_OPERATORS)
        if operator == "BEGINS_WITH" and key.sort_type == "N" and random.random() < 0.9:
            operator = "GE"
        if random.random() < 0.03:
            operator = random.choice(("NE", "IN", "CONTAINS", "NULL"))
        count = OPERATORS[operator]
        found[key.sort] = {
            "ComparisonOperator": operator,
            "AttributeValueList": [draw_key_value(random, key.sort_type) for _ in range(count)],
        }
    return found
