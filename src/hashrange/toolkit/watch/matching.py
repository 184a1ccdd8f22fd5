"""Finds the access pattern behind a request.

A request fits a pattern if operation, table and index are the same and its keys can have been made
by the key templates of the pattern. Of several patterns that fit, the one that says most about the
request wins: the most literal text in its keys, then the attributes it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, SortCondition
from hashrange.toolkit.design.templates import parse_template
from hashrange.toolkit.design.updates import assignments_of, computed_by, removed_by
from hashrange.toolkit.values import from_wire
from hashrange.toolkit.watch.trace import Request

_OPERATIONS: Final = {
    "GetItem": ("get",),
    "Query": ("query",),
    "Scan": ("scan",),
    "PutItem": ("create", "put"),
    "UpdateItem": ("update",),
    "DeleteItem": ("delete",),
    "BatchGetItem": ("batch_get",),
    "BatchWriteItem": ("batch_write",),
    "TransactGetItems": ("transact_get",),
    "TransactWriteItems": ("transact_write", "create", "put", "update", "delete"),
}
"""A write to an entity with unique attributes is sent as a transaction."""

_CONDITION: Final = re.compile(
    r"(?P<name>#?\w+)\s*(?:(?P<sign><=|>=|=|<|>)\s*(?P<value>:\w+)"
    r"|BETWEEN\s+(?P<low>:\w+)\s+AND\s+:\w+)"
    r"|begins_with\s*\(\s*(?P<prefixed>#?\w+)\s*,\s*(?P<prefix>:\w+)\s*\)",
    re.IGNORECASE,
)
_ACTIONS: Final = {
    "Put": "put",
    "Update": "update",
    "Delete": "delete",
    "ConditionCheck": "check",
    "Get": "get",
}
_STORED: Final[dict[str, str]] = {"create": "put"}
"""What is sent for an operation of the design, where it has another name."""


@final
@dataclass(frozen=True, slots=True)
class Target:
    """What a request goes to: a table, an index, and the partition key value it names first."""

    table: str
    index: str = ""
    key: str = ""


@final
class Matcher:
    """Finds the patterns of a design behind requests.

    `names` maps what the service calls the tables to the names in the design.
    """

    def __init__(self, design: Design, names: Mapping[str, str] | None = None) -> None:
        self.design = design
        self._names = names or {}

    def pattern_of(self, request: Request) -> AccessPattern | None:
        """Return the pattern behind a request, or None if no pattern fits."""
        wanted = _OPERATIONS.get(request.operation, ())
        scores = [
            (score, pattern)
            for pattern in self.design.patterns
            if pattern.operation in wanted and (score := self._score(pattern, request)) is not None
        ]
        return max(scores, key=lambda each: each[0])[1] if scores else None

    def target_of(self, request: Request) -> Target:
        """Return where a request goes."""
        parameters = request.parameters
        if request.operation.startswith("Batch"):
            name, entries = next(iter(parameters.get("RequestItems", {}).items()), ("", []))
            first = entries.get("Keys", []) if isinstance(entries, Mapping) else entries
            keys = _entry_key(first[0]) if first else {}
        elif request.operation.startswith("Transact"):
            steps = list(_steps(parameters))
            name, keys = (steps[0][1], steps[0][2]) if steps else ("", {})
        else:
            name = parameters.get("TableName", "")
            keys = parameters.get("Key") or parameters.get("Item") or {}
        table = self._table(name)
        index = parameters.get("IndexName", "")
        if request.operation == "Query":
            value = self._conditions(request, table, index).get("partition")
        else:
            value = self._partition_value(table, keys)
        return Target(table, index, "" if value is None else str(value))

    def _score(self, pattern: AccessPattern, request: Request) -> int | None:
        if request.operation.startswith("Transact"):
            return self._score_steps(pattern, request)
        if request.operation.startswith("Batch"):
            return self._score_batch(pattern, request)
        parameters = request.parameters
        if self._table(parameters.get("TableName", "")) != pattern.table:
            return None
        if parameters.get("IndexName", "") != pattern.index:
            return None
        if request.operation == "Scan":
            return len(set(_words(pattern.filter)) & set(_words(_plain(parameters, "Filter"))))
        if request.operation == "Query":
            return self._score_query(pattern, request)
        keys = parameters.get("Key") or parameters.get("Item") or {}
        score = self._score_key(pattern.entities[0], keys)
        if score is None:
            return None
        return score + _score_write(pattern, parameters)

    def _score_key(self, name: str, wire: Mapping[str, Any]) -> int | None:
        """Return how much literal text the key templates of an entity share with a key."""
        entity = self.design.entity(name)
        table = self.design.table(entity.table)
        item = {key: from_wire(value) for key, value in wire.items()}
        keys = [key.name for key in table.key_attributes]
        label = item.get(table.entity_attribute) if table.entity_attribute else None
        if label is not None and label != entity.name:
            return None
        if not entity.matches(item, *keys):
            return None
        return sum(_literal(entity, key) for key in keys)

    def _score_query(self, pattern: AccessPattern, request: Request) -> int | None:
        found = self._conditions(request, pattern.table, pattern.index)
        template = parse_template(pattern.partition_key)
        if "partition" not in found or template.parse(found["partition"]) is None:
            return None
        score = 10 * sum(len(part) for part in template.parts if isinstance(part, str))
        sort = _score_sort(pattern.sort_key, found.get("sign", ""), found.get("sort"))
        filtered = bool(pattern.filter) == ("FilterExpression" in request.parameters)
        return None if sort is None else score + 2 * sort + filtered

    def _conditions(self, request: Request, table: str, index: str) -> dict[str, Any]:
        """Return partition value, sort operator and sort value of a query."""
        parameters = request.parameters
        names = parameters.get("ExpressionAttributeNames", {})
        values = parameters.get("ExpressionAttributeValues", {})
        known = {each.name: each for each in self.design.tables}
        if table not in known or (index and all(i.name != index for i in known[table].indexes)):
            return {}
        holder = known[table].keys_of(index)
        found: dict[str, Any] = {}
        for match in _CONDITION.finditer(parameters.get("KeyConditionExpression", "")):
            name = match["name"] or match["prefixed"]
            name = names.get(name, name)
            place = match["value"] or match["low"] or match["prefix"]
            value = from_wire(values[place]) if place in values else None
            if name == holder.partition.name:
                found["partition"] = value
            else:
                found["sort"] = value
                found["sign"] = match["sign"] or ("between" if match["low"] else "begins_with")
        return found

    def _score_batch(self, pattern: AccessPattern, request: Request) -> int | None:
        for name, entries in request.parameters.get("RequestItems", {}).items():
            listed = entries.get("Keys", []) if isinstance(entries, Mapping) else entries
            if self._table(name) == pattern.table and listed:
                return self._score_key(pattern.entities[0], _entry_key(listed[0]))
        return None

    def _score_steps(self, pattern: AccessPattern, request: Request) -> int | None:
        """Return how many kinds of steps agree; each kind of the pattern must be there."""
        sent = set()
        for action, name, wire in _steps(request.parameters):
            entity = self._entity(self._table(name), wire)
            sent.add((action, entity.name if entity else ""))
        if pattern.operation in ("transact_write", "transact_get"):
            reads = pattern.operation == "transact_get"
            declared = {
                ("get" if reads else _STORED.get(step.action, step.action), step.entity)
                for step in pattern.steps
            }
            return 1 + len(declared) if declared <= sent else None
        entity_name = pattern.entities[0]
        action = _STORED.get(pattern.operation, pattern.operation)
        guarded = bool(self.design.entity(entity_name).unique)
        return 0 if guarded and (action, entity_name) in sent else None

    def _entity(self, table: str, wire: Mapping[str, Any]) -> Entity[Any] | None:
        scores = [
            (score, entity.name)
            for entity in self.design.entities
            if entity.table == table and (score := self._score_key(entity.name, wire)) is not None
        ]
        return self.design.entity(max(scores)[1]) if scores else None

    def _partition_value(self, table: str, wire: Mapping[str, Any]) -> Any:
        for each in self.design.tables:
            if each.name == table and each.partition.name in wire:
                return from_wire(wire[each.partition.name])
        return None

    def _table(self, name: str) -> str:
        short = name.rpartition("/")[2]
        return self._names.get(short, short)


def _steps(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for step in parameters.get("TransactItems", []):
        for kind, body in step.items():
            yield _ACTIONS[kind], body.get("TableName", ""), body.get("Item") or body.get("Key", {})


def _entry_key(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return key or item of an entry of a batch."""
    if "PutRequest" in entry:
        return dict(entry["PutRequest"]["Item"])
    if "DeleteRequest" in entry:
        return dict(entry["DeleteRequest"]["Key"])
    return entry


def _literal(entity: Entity[Any], key: str) -> int:
    template = entity.required_template(key)
    return 10 * sum(len(part) for part in template.parts if isinstance(part, str))


def _score_write(pattern: AccessPattern, parameters: Mapping[str, Any]) -> int:
    """Return how much the expressions of a write agree with those of a pattern."""
    condition = _plain(parameters, "Condition")
    if pattern.operation in ("create", "put"):
        is_create = condition.strip().startswith("attribute_not_exists")
        return 5 if is_create == (pattern.operation == "create") else 0
    if pattern.operation != "update":
        return 0
    declared, sent = _changed(pattern.update), _changed(_plain(parameters, "Update"))
    return 5 * len(declared & sent) - len(declared - sent)


def _changed(update: str) -> set[tuple[str, str]]:
    """Return what an update does to which attribute."""
    return {
        *(("set", name) for name in assignments_of(update)),
        *(("remove", name) for name in removed_by(update)),
        *(("compute", name) for name in computed_by(update)),
    }


def _plain(parameters: Mapping[str, Any], kind: str) -> str:
    """Return an expression with its name placeholders replaced."""
    names = parameters.get("ExpressionAttributeNames", {})
    text = parameters.get(f"{kind}Expression", "")
    return re.sub(r"#\w+", lambda found: names.get(found.group(), found.group()), text)


def _words(text: str) -> list[str]:
    return re.findall(r"(?<![:\w])\w+", text)


def _score_sort(declared: SortCondition | None, sign: str, value: Any) -> int | None:
    """Return how well a sort condition agrees, or None if it contradicts the pattern."""
    if declared is None:
        return 0 if not sign else None
    template = parse_template(declared.value)
    if not sign:
        # A prefix without literal text is left out when its fields are not given.
        return 0 if declared.operator == "begins_with" and not template.prefix else None
    if declared.operator != sign:
        return None
    if sign in ("=", "between") and template.parse(value) is None:
        return None
    if sign == "begins_with":
        text, prefix = str(value), template.prefix
        if not (text.startswith(prefix) or prefix.startswith(text)):
            return None
    return 1 + len(template.prefix)
