"""Random PartiQL statements over the tables of a round.

Values are written as literals or as parameters; paths and types are those of the other generators,
so that statements meet the items which requests have written.
"""

from random import Random
from typing import Any

from tests.differential import tables, values
from tests.differential.tables import Index, Key, Table
from tests.differential.values import ATTRIBUTES, Value

COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
TYPE_WORDS = ("MISSING", "NULL", "STRING", "NUMERIC", "LIST", "STRUCT", "BOOL")
RETURNING = ("ALL NEW", "ALL OLD", "MODIFIED NEW", "MODIFIED OLD")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str | None:
    """Return a value as PartiQL writes it; None for binary, which it cannot write."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return "'" + str(content).replace("'", "''") + "'"
        case "N":
            return str(content)
        case "BOOL":
            return str(content).lower()
        case "NULL":
            return "null"
        case "SS" | "NS":
            members = [literal({kind[0]: member}) or "" for member in content]
            return "<<" + ", ".join(members) + ">>"
        case "L":
            members = [literal(member) or "" for member in content]
            return "[" + ", ".join(members) + "]" if all(members) else None
        case "M":
            members = [literal(member) or "" for member in content.values()]
            names = [literal({"S": name}) for name in content]
            pairs = ", ".join(f"{n}: {m}" for n, m in zip(names, members, strict=True))
            return "{" + pairs + "}" if all(members) else None
        case _:
            return None


class Statement:
    """One statement while it is written: its parameters in the order of their marks."""

    def __init__(self, random: Random, table: Table) -> None:
        self.random = random
        self.table = table
        self.parameters: list[Value] = []

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def value(self, value: Value) -> str:
        text = None if self.chance(0.35) else literal(value)
        if text is None:
            self.parameters.append(value)
            return "?"
        return text

    def draw_value(self, kind: str) -> str:
        return self.value(
            values.draw_value(self.random, kind if not self.chance(0.06) else "*", depth=1)
        )

    def path(self) -> tuple[str, str]:
        """Return a path and the type its value usually has."""
        roll = self.random.random()
        if roll < 0.12:
            name = self.random.choice(("s", "n", "l", "ss", "x"))
            return f"m.{name}", ATTRIBUTES[name]
        if roll < 0.2:
            return f"l[{self.random.choice((0, 0, 1, 5))}]", "*"
        name = self.random.choice(sorted(ATTRIBUTES))
        return quoted(name), ATTRIBUTES[name]

    def condition(self, depth: int = 0) -> str:
        roll = self.random.random()
        if depth < 2 and roll < 0.25:
            word = "AND" if roll < 0.15 else "OR"
            return f"({self.condition(depth + 1)} {word} {self.condition(depth + 1)})"
        if depth < 2 and roll < 0.3:
            return f"NOT ({self.condition(depth + 1)})"
        path, kind = self.path()
        if roll < 0.55:
            return f"{path} {self.random.choice(COMPARATORS)} {self.draw_value(kind)}"
        if roll < 0.62:
            return f"{path} BETWEEN {self.draw_value(kind)} AND {self.draw_value(kind)}"
        if roll < 0.70:
            members = ", ".join(self.draw_value(kind) for _ in range(self.random.randint(1, 3)))
            return f"{path} IN [{members}]"
        if roll < 0.78:
            return f"{path} IS {self.random.choice(('', 'NOT '))}{self.random.choice(TYPE_WORDS)}"
        if roll < 0.84:
            return f"begins_with({path}, {self.draw_value('S')})"
        if roll < 0.92:
            inner = {"SS": "S", "NS": "N", "BS": "B"}.get(kind, kind)
            return f"contains({path}, {self.draw_value(inner)})"
        if roll < 0.96:
            return f"attribute_type({path}, {self.value({'S': self.random.choice(values.TYPES)})})"
        return f"size({path}) {self.random.choice(COMPARATORS)} {self.draw_value('N')}"

    def keys(self, key: Key, is_whole: bool) -> str:
        """Return conditions on the key, on all of it or on the partition key and maybe more."""
        partition = self.value(tables.draw_key_value(self.random, key.partition_type))
        found = f"{quoted(key.partition)} = {partition}"
        if key.sort and key.sort_type and (is_whole or self.chance(0.5)):
            word = "=" if is_whole else self.random.choice(("=", "<", "<=", ">", ">="))
            sort = self.value(tables.draw_key_value(self.random, key.sort_type))
            found += f" AND {quoted(key.sort)} {word} {sort}"
        return found

    def select(self) -> str:
        index = None
        if self.table.indexes and self.chance(0.4):
            index = self.random.choice(self.table.indexes)
        columns = "*"
        if self.chance(0.35):
            columns = ", ".join({self.path()[0]: None for _ in range(self.random.randint(1, 3))})
        place = quoted(self.table.name) + (f".{quoted(index.name)}" if index else "")
        return f"SELECT {columns} FROM {place}{self.where(index)}"

    def where(self, index: Index | None) -> str:
        key = index.key if index else self.table.key
        roll = self.random.random()
        if roll < 0.1:
            return ""
        if roll < 0.3:
            return f" WHERE {self.condition()}"
        found = f" WHERE {self.keys(key, is_whole=self.chance(0.3))}"
        if self.chance(0.4):
            found += f" AND {self.condition()}"
        if key.sort and self.chance(0.3):
            found += f" ORDER BY {quoted(key.sort)} {self.random.choice(('ASC', 'DESC'))}"
        return found

    def insert(self) -> str:
        item = tables.draw_item(self.random, self.table)
        members = ", ".join(f"'{name}': {self.value(value)}" for name, value in item.items())
        return f"INSERT INTO {quoted(self.table.name)} VALUE {{{members}}}"

    def assignment(self) -> str:
        path, kind = self.path()
        roll = self.random.random()
        if roll < 0.15:
            return f"REMOVE {path}"
        if kind == "N" and roll < 0.5:
            return f"SET {path} = {path} {self.random.choice('+-')} {self.draw_value('N')}"
        if kind == "L" and roll < 0.5:
            return f"SET {path} = list_append({path}, {self.draw_value('L')})"
        if kind in ("SS", "NS") and roll < 0.6:
            word = self.random.choice(("set_add", "set_delete"))
            return f"SET {path} = {word}({path}, {self.draw_value(kind)})"
        if roll < 0.6:
            return f"SET {path} = if_not_exists({path}, {self.draw_value(kind)})"
        return f"SET {path} = {self.draw_value(kind)}"

    def update(self) -> str:
        changes = " ".join(self.assignment() for _ in range(self.random.choice((1, 1, 2, 3))))
        found = f"UPDATE {quoted(self.table.name)} {changes} WHERE "
        found += self.keys(self.table.key, is_whole=self.chance(0.97))
        if self.chance(0.2):
            found += f" AND {self.condition()}"
        if self.chance(0.5):
            found += f" RETURNING {self.random.choice(RETURNING)} *"
        return found

    def delete(self) -> str:
        found = f"DELETE FROM {quoted(self.table.name)} WHERE "
        found += self.keys(self.table.key, is_whole=self.chance(0.97))
        if self.chance(0.3):
            found += f" AND {self.condition()}"
        return found + (" RETURNING ALL OLD *" if self.chance(0.4) else "")


def draw_statement(random: Random, table: Table) -> dict[str, Any]:
    """Return the Statement and Parameters of a request."""
    statement = Statement(random, table)
    kinds = (statement.select, statement.insert, statement.update, statement.delete)
    text = random.choices(kinds, (45, 15, 30, 10))[0]()
    found: dict[str, Any] = {"Statement": text}
    if statement.parameters:
        found["Parameters"] = statement.parameters
    return found


def draw_execute(random: Random, table: Table) -> dict[str, Any]:
    """Return an ExecuteStatement request."""
    body = draw_statement(random, table)
    is_select = body["Statement"].startswith("SELECT")
    if is_select and random.random() < 0.15:
        body["ConsistentRead"] = random.random() < 0.5
    if is_select and random.random() < 0.25:
        body["Limit"] = random.choice((1, 2, 3, 100))
    return body
