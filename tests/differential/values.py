"""Random attribute values, drawn from small pools so that different requests meet the same values.

Attribute names tell what they usually hold (`s` a string, `ns` a number set, `x` anything), which
keeps generated expressions meaningful most of the time.
"""

import base64
from random import Random
from typing import Any

Value = dict[str, Any]
Item = dict[str, Value]

STRINGS = ("a", "ab", "abc", "b", "B", "ba", "z", "é", "日本", "🂡", "a b", "0", "10", "")
NUMBERS = (
    *("0", "1", "2", "3", "5", "10", "-1", "-5", "1.5", "0.1", "100", "-2.75", "7", "12"),
    *("1e2", "1.50", "-0", "00012", "+7", "1E-130", "123e-5", "0.00001", "1E+20", ".5", "5."),
    *("12345678901234567890123456789012345678", "9.9999999999999999999999999999999999999E+125"),
    *("-9.9999999999999999999999999999999999999E+125", "1" + "0" * 38, "0." + "0" * 20 + "1"),
)
PLAIN_NUMBERS = 14
BAD_NUMBERS = (
    *("1e126", "1e-131", "123456789012345678901234567890123456789", "", "abc", " 1", "1 ", "0x10"),
    *("NaN", "Infinity", "1e", "--1", "1_000", "1,5", "1" * 40, "-1e-131", "1e1000"),
)
BYTES = (b"a", b"ab", b"b", b"\x00", b"\x00\x01", b"\x7f", b"\x80", b"\xff", b"\xff\x00", b"")

# What each attribute usually holds; "*" is anything.
ATTRIBUTES = {
    "s": "S",
    "s2": "S",
    "n": "N",
    "n2": "N",
    "b": "B",
    "t": "BOOL",
    "nil": "NULL",
    "ss": "SS",
    "ns": "NS",
    "bs": "BS",
    "l": "L",
    "m": "M",
    "x": "*",
    "y": "*",
    "name": "S",
    "a.b": "S",
    "size": "N",
    "9lives": "N",
}
TYPES = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")


def text_of(raw: bytes) -> str:
    """Return the base64 text of binary."""
    return base64.b64encode(raw).decode()


def draw_number(random: Random) -> str:
    """Return a number text, mostly a plain small one."""
    if random.random() < 0.75:
        return NUMBERS[random.randrange(PLAIN_NUMBERS)]
    return random.choice(NUMBERS)


def draw_string(random: Random) -> str:
    """Return a string, hardly ever empty."""
    return random.choice(STRINGS if random.random() < 0.1 else STRINGS[:-1])


def draw_value(random: Random, kind: str = "*", depth: int = 0) -> Value:
    """Return a valid value of a type."""
    if kind == "*":
        kind = random.choice(TYPES if depth < 3 else TYPES[:8])
    match kind:
        case "S":
            return {"S": draw_string(random)}
        case "N":
            return {"N": draw_number(random)}
        case "B":
            return {"B": text_of(random.choice(BYTES))}
        case "BOOL":
            return {"BOOL": random.random() < 0.5}
        case "NULL":
            return {"NULL": True}
        case "SS":
            return {"SS": random.sample(STRINGS[:-1], random.randint(1, 3))}
        case "NS":
            return {"NS": random.sample(NUMBERS[:PLAIN_NUMBERS], random.randint(1, 3))}
        case "BS":
            return {"BS": [text_of(raw) for raw in random.sample(BYTES[:-1], random.randint(1, 3))]}
        case "L":
            return {"L": [draw_value(random, "*", depth + 1) for _ in range(random.randint(0, 3))]}
        case _:
            names = random.sample(("s", "n", "l", "m", "ss", "x", "y"), random.randint(0, 4))
            kinds = ((name, ATTRIBUTES[name]) for name in names)
            return {"M": {name: draw_value(random, kind, depth + 1) for name, kind in kinds}}


def draw_attribute(random: Random, name: str) -> Value:
    """Return a value such as this attribute usually holds; one in twelve is of another type."""
    usual = ATTRIBUTES.get(name, "*")
    return draw_value(random, usual if random.random() > 1 / 12 else "*")


def draw_bad_value(random: Random) -> Any:
    """Return a value that is not valid, often only slightly."""
    deep: Value = {"S": "deep"}
    for level in range(random.choice((31, 32, 33, 40))):
        deep = {"L": [deep]} if level % 2 else {"M": {"d": deep}}
    return random.choice(
        (
            {"N": random.choice(BAD_NUMBERS)},
            {"NS": ["1", random.choice(BAD_NUMBERS)]},
            {"NS": ["1", "1.0"]},
            {"NS": []},
            {"SS": []},
            {"SS": ["a", "a"]},
            {"SS": ["a", ""]},
            {"SS": [""]},
            {"BS": []},
            {"BS": ["YQ==", "YQ=="]},
            {"BS": [""]},
            {"B": "not base64!"},
            {"B": "YQ"},
            {"B": "YR=="},
            {"B": ""},
            {"NULL": False},
            {},
            {"S": "a", "N": "1"},
            {"S": None},
            {"S": "a", "N": None},
            {"Z": "a"},
            {"S": 5},
            {"N": 5},
            {"BOOL": "true"},
            {"BOOL": 1},
            {"NULL": "true"},
            {"SS": "a"},
            {"SS": [1]},
            {"L": {"S": "a"}},
            {"L": [None]},
            {"L": ["a"]},
            {"L": [{}]},
            {"M": []},
            {"M": {"k": {"N": "x"}}},
            {"M": {"k": None}},
            {"M": {"": {"S": "empty name"}}},
            "S",
            7,
            None,
            [],
            deep,
        )
    )
