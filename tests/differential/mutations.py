"""Small damage: what turns a valid expression or request into one that is subtly wrong."""

import copy
from random import Random
from typing import Any

from tests.differential import values
from tests.differential.expressions import Terms

RESERVED = ("name", "status", "size", "count", "date", "Value", "TABLE", "abs")
STRAY_TOKENS = ("(", ")", ",", "AND", "OR", "NOT", "=", "SET", "BETWEEN", "IN", ":v0", "#n0", "5")
STRAY_WORDS = (
    "==",
    "!=",
    "&&",
    "||",
    "'a'",
    '"a"',
    "{",
    "$",
    "l[-1]",
    "l[01]",
    "m..s",
    ".m",
    "l[x]",
)


def mutate_tokens(terms: Terms, tokens: list[str]) -> list[str]:
    """Return the expression with one thing wrong (or merely odd)."""
    random = terms.random
    found = list(tokens)
    place = random.randrange(len(found))
    match random.randrange(13):
        case 0:
            del found[place]
        case 1:
            found.insert(place, found[place])
        case 2:
            found.insert(place, random.choice(STRAY_TOKENS))
        case 3:
            found[place] = random.choice(STRAY_TOKENS + STRAY_WORDS)
        case 4:
            found = [t.replace(":v0", ":undefined") for t in found]
        case 5:
            found = [t.replace("#n0", "#undefined") for t in found]
        case 6:
            terms.values[random.choice((":unused", ":v9", "nocolon", ":", ":a-b", ":a b"))] = {
                "S": "u"
            }
        case 7:
            terms.names[random.choice(("#unused", "#u2", "nohash", "#", "#a-b"))] = "unused"
        case 8:
            word = random.choice(RESERVED)
            found = [t if t not in ("s", "n", "x", "y", "m", "l") else word for t in found]
        case 9:
            found = [t.lower() if t.isupper() else t for t in found]
        case 10:
            found = ["(", "(", *found, ")", ")"]
        case 11:
            if terms.values:
                terms.values[random.choice(sorted(terms.values))] = values.draw_bad_value(random)
        case 12:
            found = [t.replace("size(", "Size(").replace("contains", "CONTAINS") for t in found]
    return found


def every_place(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a request, outermost first."""
    children = node.items() if isinstance(node, dict) else enumerate(node)
    found = []
    for key, child in children:
        found.append((*path, key))
        if isinstance(child, dict | list):
            found += every_place(child, (*path, key))
    return found


def parent_of(node: Any, path: tuple[Any, ...]) -> Any:
    """Return the container a path ends in."""
    for step in path[:-1]:
        node = node[step]
    return node


def mutate_request(random: Random, request: dict[str, Any]) -> dict[str, Any]:
    """Return the request with one value mistyped, missing, out of range or misplaced."""
    found = copy.deepcopy(request)
    places = every_place(found)
    if not places or random.random() < 0.05:
        found[random.choice(("Unknown", "tableName", "Limit"))] = random.choice((1, "x", None))
        return found
    path = random.choice(places)
    if random.random() < 0.5:
        path = path[:1]
    parent, key = parent_of(found, path), path[-1]
    old = parent[key]
    match random.randrange(8):
        case 0 | 1:
            del parent[key]
        case 2:
            parent[key] = None
        case 3:
            parent[key] = random.choice((0, 1, -1, 5, 1.5, 3000000000, True, False))
        case 4:
            parent[key] = random.choice(("", "x", "INVALID", "a" * 256, "Bad Name!", "NONE"))
        case 5:
            parent[key] = random.choice(([], {}, [1], ["x"], {"S": "x"}, [None], [{}]))
        case 6:
            parent[key] = [old]
        case 7:
            parent[key] = values.draw_bad_value(random)
    return found
