"""Random expressions: conditions, projections, updates and key conditions, with their placeholders.

Every expression is written as a list of tokens joined by spaces, so that a mutation can take one
away or change it and leave the rest intact.
"""

from random import Random
from typing import Any

from tests.differential import values
from tests.differential.tables import Key, draw_key_value
from tests.differential.values import ATTRIBUTES, Value

COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
BARE_NAMES = frozenset(
    ("s", "s2", "n", "n2", "b", "t", "nil", "ss", "ns", "bs", "l", "m", "x", "y")
)
TYPE_NAMES = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")


class Terms:
    """The placeholders of one request, collected while its expressions are written."""

    def __init__(self, random: Random, attributes: tuple[str, ...] = ()):
        self.random = random
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self.attributes = tuple(sorted(ATTRIBUTES)) + attributes

    def name(self, attribute: str) -> str:
        """Return the attribute as it may stand in an expression."""
        is_bare = attribute in BARE_NAMES or attribute in ("p", "r")
        if is_bare and self.random.random() < 0.75:
            return attribute
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: Value) -> str:
        """Return a placeholder for a value, at times one that is there already."""
        for placeholder, other in self.values.items():
            if other == value and self.random.random() < 0.5:
                return placeholder
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def parameters(self) -> dict[str, Any]:
        """Return ExpressionAttributeNames and ExpressionAttributeValues as far as needed."""
        found: dict[str, Any] = {}
        if self.names:
            found["ExpressionAttributeNames"] = self.names
        if self.values:
            found["ExpressionAttributeValues"] = self.values
        return found


def draw_path(terms: Terms, kind: str | None = None) -> tuple[str, str]:
    """Return a document path and the type its value usually has ("*" for any)."""
    random = terms.random
    roll = random.random()
    if roll < 0.12 and kind in (None, "S", "N", "SS", "L", "M", "*"):
        chosen = random.choice(("s", "n", "l", "m", "ss", "x"))
        return f"{terms.name('m')}.{terms.name(chosen)}", ATTRIBUTES[chosen]
    if roll < 0.18:
        return f"{terms.name('l')}[{random.choice((0, 0, 0, 1, 2, 9))}]", "*"
    if roll < 0.195:
        return f"{terms.name(random.choice(terms.attributes))}{random.choice(('.x', '[0]'))}", "*"
    if roll < 0.21:
        return f"{terms.name('m')}.{terms.name('l')}[0].{terms.name('x')}", "*"
    fitting = [a for a in terms.attributes if kind is None or ATTRIBUTES.get(a, "S") == kind]
    chosen = random.choice(fitting or terms.attributes)
    return terms.name(chosen), ATTRIBUTES.get(chosen, "S")


def draw_operand_value(terms: Terms, kind: str) -> str:
    """Return a placeholder for a value, of the wrong type now and then."""
    if terms.random.random() < 0.08:
        kind = "*"
    return terms.value(values.draw_value(terms.random, kind))


def draw_operand(terms: Terms, kind: str) -> str:
    """Return a value, another path or a size, comparable with a type."""
    roll = terms.random.random()
    if roll < 0.8:
        return draw_operand_value(terms, kind)
    if roll < 0.93 or kind != "N":
        return draw_path(terms, kind)[0]
    return f"size({draw_path(terms)[0]})"


def draw_comparison(terms: Terms) -> list[str]:
    random = terms.random
    if random.random() < 0.12:
        left, kind = f"size({draw_path(terms)[0]})", "N"
    else:
        left, kind = draw_path(terms)
    roll = random.random()
    if roll < 0.65:
        sides = [left, draw_operand(terms, kind)]
        if sides[0] == sides[1] and random.random() < 0.7:
            sides[1] = draw_operand_value(terms, kind)
        if random.random() < 0.1:
            sides.reverse()
        return [sides[0], random.choice(COMPARATORS), sides[1]]
    if roll < 0.85:
        kind = kind if kind in ("S", "N", "B") else "N"
        bounds = sorted(
            (values.draw_value(random, kind) for _ in range(2)), key=lambda v: rank(kind, v)
        )
        if random.random() < 0.06:
            bounds.reverse()
        return [left, "BETWEEN", terms.value(bounds[0]), "AND", terms.value(bounds[1])]
    if random.random() < 0.01:
        inside = ", ".join([draw_operand_value(terms, kind)] * 101)
    else:
        inside = ", ".join(draw_operand(terms, kind) for _ in range(random.randint(1, 4)))
    return [left, "IN", "(", inside, ")"]


def rank(kind: str, value: Value) -> Any:
    """Return what orders values of one type."""
    return float(value[kind]) if kind == "N" else str(value[kind])


def draw_function(terms: Terms) -> list[str]:
    random = terms.random
    match random.randrange(6):
        case 0:
            return ["attribute_exists", "(", draw_path(terms)[0], ")"]
        case 1:
            return ["attribute_not_exists", "(", draw_path(terms)[0], ")"]
        case 2:
            kind = random.choice(TYPE_NAMES) if random.random() < 0.93 else "STRING"
            return ["attribute_type", "(", draw_path(terms)[0], ",", terms.value({"S": kind}), ")"]
        case 3:
            path, kind = draw_path(terms, random.choice(("S", "S", "B")))
            kind = kind if kind in ("S", "B") else "S"
            return ["begins_with", "(", path, ",", draw_operand_value(terms, kind), ")"]
        case _:
            path, kind = draw_path(terms, random.choice(("S", "SS", "NS", "BS", "L", "B")))
            inner = {"SS": "S", "NS": "N", "BS": "B", "S": "S", "B": "B"}.get(kind, "*")
            return ["contains", "(", path, ",", draw_operand(terms, inner), ")"]


def draw_condition(terms: Terms, depth: int = 0) -> list[str]:
    """Return the tokens of a condition."""
    random = terms.random
    roll = random.random()
    if depth >= 3 or roll < 0.62:
        return draw_comparison(terms) if random.random() < 0.6 else draw_function(terms)
    if roll < 0.70:
        return ["NOT", *draw_condition(terms, depth + 1)]
    if roll < 0.78:
        return ["(", *draw_condition(terms, depth + 1), ")"]
    word = random.choice(("AND", "OR", "and", "Or"))
    return [*draw_condition(terms, depth + 1), word, *draw_condition(terms, depth + 1)]


def draw_projection(terms: Terms) -> list[str]:
    """Return the tokens of a projection over paths that seldom overlap."""
    random = terms.random
    chosen = random.sample(terms.attributes, random.randint(1, 4))
    tokens: list[str] = []
    for attribute in chosen:
        path = terms.name(attribute)
        if attribute == "m" and random.random() < 0.6:
            path += f".{terms.name(random.choice(('s', 'n', 'l', 'ss')))}"
            if random.random() < 0.3:
                tokens += [f"{terms.name('m')}.{terms.name('x')}", ","]
        elif attribute == "l" and random.random() < 0.6:
            path += f"[{random.randrange(3)}]"
        tokens += [path, ","]
    return tokens[:-1]


def draw_set(terms: Terms, path: str, kind: str) -> list[str]:
    """Return one action of SET."""
    random = terms.random
    if kind == "N" and random.random() < 0.6:
        step = draw_operand_value(terms, "N")
        if random.random() < 0.3:
            zero = terms.value({"N": "0"})
            return [path, "=", f"if_not_exists({path}, {zero})", random.choice("+-"), step]
        sides = [path, step] if random.random() < 0.85 else [step, path]
        return [path, "=", sides[0], random.choice("+-"), sides[1]]
    if kind == "L" and random.random() < 0.6:
        ends = [path, draw_operand_value(terms, "L")]
        random.shuffle(ends)
        return [path, "=", f"list_append({ends[0]}, {ends[1]})"]
    roll = random.random()
    if roll < 0.15:
        return [path, "=", draw_path(terms, kind)[0]]
    value = draw_operand_value(terms, kind)
    if roll < 0.35:
        return [path, "=", f"if_not_exists({draw_path(terms, kind)[0]}, {value})"]
    return [path, "=", value]


def draw_target(terms: Terms, attribute: str) -> tuple[str, str]:
    """Return a path to update within one top-level attribute."""
    random = terms.random
    path = terms.name(attribute)
    if attribute == "m" and random.random() < 0.7:
        inner = random.choice(("s", "n", "l", "m", "ss", "x", "fresh"))
        return f"{path}.{terms.name(inner)}", ATTRIBUTES.get(inner, "*")
    if attribute == "l" and random.random() < 0.6:
        return f"{path}[{random.choice((0, 0, 1, 2, 50))}]", "*"
    return path, ATTRIBUTES.get(attribute, "*")


def draw_update(terms: Terms) -> list[str]:
    """Return the tokens of an update."""
    random = terms.random
    count = random.choice((1, 1, 2, 2, 3, 4))
    pool = [a for a in terms.attributes if a not in ("p", "r")]
    if random.random() < 0.02:
        pool += ["p", "r"] * 4
    chosen = random.sample(pool, count)
    if random.random() < 0.04:
        chosen.append(chosen[0])
    clauses: dict[str, list[list[str]]] = {}
    for attribute in chosen:
        path, kind = draw_target(terms, attribute)
        roll = random.random()
        if roll < 0.3 and kind in ("N", "SS", "NS", "BS"):
            clauses.setdefault("ADD", []).append([path, draw_operand_value(terms, kind)])
        elif roll < 0.5 and kind in ("SS", "NS", "BS"):
            clauses.setdefault("DELETE", []).append([path, draw_operand_value(terms, kind)])
        elif roll > 0.82:
            clauses.setdefault("REMOVE", []).append([path])
        else:
            clauses.setdefault("SET", []).append(draw_set(terms, path, kind))
    words = list(clauses)
    random.shuffle(words)
    tokens: list[str] = []
    for word in words:
        tokens.append(word if random.random() < 0.9 else word.lower())
        for action in clauses[word]:
            tokens += [*action, ","]
        tokens.pop()
    return tokens


def draw_key_condition(terms: Terms, key: Key) -> list[str]:
    """Return the tokens of a key condition."""
    random = terms.random
    first = [
        terms.name(key.partition),
        "=",
        terms.value(draw_key_value(random, key.partition_type)),
    ]
    if not key.sort or not key.sort_type or random.random() < 0.35:
        return first
    name, kind = terms.name(key.sort), key.sort_type
    roll = random.random()
    if roll < 0.25:
        bounds = sorted(
            (draw_key_value(random, kind) for _ in range(2)), key=lambda v: rank(kind, v)
        )
        if random.random() < 0.05:
            bounds.reverse()
        second = [name, "BETWEEN", terms.value(bounds[0]), "AND", terms.value(bounds[1])]
    elif roll < 0.45 and (kind != "N" or random.random() < 0.1):
        second = ["begins_with", "(", name, ",", terms.value(draw_key_value(random, kind)), ")"]
    else:
        word = random.choice(("=", "<", "<=", ">", ">=") if random.random() < 0.97 else ("<>",))
        second = [name, word, terms.value(draw_key_value(random, kind))]
    pair = [first, second]
    if random.random() < 0.15:
        pair.reverse()
    return [*pair[0], "AND", *pair[1]]
