"""Arguments for calls of access patterns, taken from the generated items.

A parameter is a field of a key, or a `:name` in an expression. What an expression does with it
decides the value: added or subtracted is 1, assigned is a value the item does not have, compared is
the value of the item.
"""

from __future__ import annotations

import re
from typing import Any, Final, final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, Step, parameters_of
from hashrange.toolkit.design.templates import iterate_fields, parse_template
from hashrange.toolkit.design.updates import assignments_of
from hashrange.toolkit.rehearsal.population import Population, Record
from hashrange.toolkit.rehearsal.samples import BEGINNING, sample

BATCH_ITEMS: Final = 25
EACH_ELEMENTS: Final = 3
_STRIDE: Final = 7919

_ARITHMETIC: Final = r"(?:[-+]\s*:{name}\b|\bADD\b[^:]*:{name}\b|if_not_exists\([^)]*:{name}\b)"
_COMPARED: Final = r"#?([A-Za-z_][\w-]*)\s*(<>|<=|>=|=|<|>)\s*:{name}\b"
_BETWEEN: Final = r"#?([A-Za-z_][\w-]*)\s+BETWEEN\s+(?::\w+\s+AND\s+)?:{name}\b"
_EXISTS: Final = re.compile(r"attribute_exists\(\s*#?([A-Za-z_][\w-]*)\s*\)")
_CALLED: Final = r"(begins_with|contains|list_append)\s*\(\s*#?([A-Za-z_][\w-]*)\s*,\s*:{name}\b"


@final
class Arguments:
    """Makes the arguments of the n-th call of a pattern."""

    def __init__(self, design: Design, population: Population) -> None:
        self.design = design
        self.population = population

    def of(self, pattern: AccessPattern, n: int) -> dict[str, Any]:
        """Return the arguments of the n-th call; the first one meets the largest collection."""
        if pattern.steps:
            return self._of_steps(pattern, n)
        if pattern.operation == "scan":
            stored = (each.name for each in self.design.entities_of(pattern.table))
            name = next(iter(pattern.entities or stored), None)
            if name is None:
                return {}
            entity = self.design.entity(name)
            return self._of_expressions(entity, self.pick(entity, n), pattern.filter)
        entity = self.design.entity(pattern.entities[0])
        if pattern.operation in ("create", "put"):
            return {"record": self.population.fresh(entity)}
        if pattern.operation == "batch_write":
            return {"records": [self.population.fresh(entity) for _ in range(BATCH_ITEMS)]}
        if pattern.operation == "batch_get":
            return {"keys": [self.pick(entity, n + k) for k in range(BATCH_ITEMS)]}
        record = self._target(entity, pattern, n)
        expressions = (pattern.filter, pattern.update, pattern.condition)
        found = self._of_expressions(entity, record, *expressions)
        return {**self._of_keys(pattern, entity, record), **found}

    def pick(self, entity: Entity[Any], n: int) -> Record:
        """Return a stored record, a different one for each n as long as there are enough."""
        records = self.population.records[entity.name]
        return records[n * _STRIDE % len(records)]

    def _target(self, entity: Entity[Any], pattern: AccessPattern, n: int) -> Record:
        """Return a record that is in the index of a pattern and has what its condition needs."""
        needed = set(_EXISTS.findall(pattern.condition))
        if pattern.index:
            keys = self.design.table(pattern.table).index(pattern.index).key_attributes
            templates = [template for key in keys if (template := entity.template(key.name))]
            needed |= {field for template in templates for field in template.fields}
        records = self.population.records[entity.name]
        declared = {name for name in needed if entity.attribute(name)}
        suitable = [each for each in records if declared <= each.keys()]
        return suitable[n * _STRIDE % len(suitable)] if suitable else self.pick(entity, n)

    def _of_keys(
        self, pattern: AccessPattern, entity: Entity[Any], record: Record
    ) -> dict[str, Any]:
        """Return the values of the key fields, also where the pattern calls them otherwise."""
        partition, sort = self.design.read_key(pattern)
        known = dict(record)
        own = entity.template(partition.name)
        if own is not None:
            known.update(_aligned(pattern.partition_key, own.text, record))
        template = entity.template(sort.name) if sort else None
        if template is not None and pattern.sort_key is not None:
            low, high = self._ends(entity, record, template.fields)
            known.update(_aligned(pattern.sort_key.value, template.text, low))
            known.update(_aligned(pattern.sort_key.upper, template.text, high))
        wanted = self.design.parameters_of(pattern)
        found = {name: known[name] for name in wanted if name in known}
        for name in wanted:
            ends = (f"{name}_from", f"{name}_to")
            if name in record and set(ends) & set(pattern.key_fields):
                low, high = self._ends(entity, record, (name,))
                found[name] = (low[name], high[name])
        return found

    def _ends(
        self, entity: Entity[Any], record: Record, fields: tuple[str, ...]
    ) -> tuple[Record, Record]:
        """Return the first and the last record of the collection a record lies in."""
        table = self.design.table(entity.table)
        names = entity.required_template(table.partition.name).placeholders
        shared = [each.field for each in names if not each.is_computed]
        mates = [
            each
            for each in self.population.records[entity.name]
            if all(each.get(name) == record.get(name) for name in shared)
            and all(name in each for name in fields)
        ]
        if not mates:
            return record, record
        ordered = sorted(mates, key=lambda each: tuple(str(each[name]) for name in fields))
        return ordered[0], ordered[-1]

    def _of_steps(self, pattern: AccessPattern, n: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for position, step in enumerate(pattern.steps):
            entity = self.design.entity(step.entity)
            writes_record = step.action in ("create", "put")
            if step.each:
                found[step.each] = [
                    self.population.fresh(entity)
                    if writes_record
                    else self._of_step(step, entity, self.pick(entity, n * EACH_ELEMENTS + k))
                    for k in range(EACH_ELEMENTS)
                ]
            elif writes_record:
                found[step.record or entity.name] = self.population.fresh(entity)
            else:
                record = self.pick(entity, n * len(pattern.steps) + position)
                for name, value in self._of_step(step, entity, record).items():
                    found.setdefault(step.rename.get(name, name), value)
        return found

    def _of_step(self, step: Step, entity: Entity[Any], record: Record) -> dict[str, Any]:
        keys = self.design.table(entity.table).key_attributes
        fields = iterate_fields(*(entity.required_template(key.name).text for key in keys))
        values = {name: record[name] for name in fields if name in record}
        return {**values, **self._of_expressions(entity, record, step.update, step.condition)}

    def _of_expressions(
        self, entity: Entity[Any], record: Record, *expressions: str
    ) -> dict[str, Any]:
        text = " ; ".join(expressions)
        names = parameters_of(*expressions)
        return {name: self._parameter(name, text, entity, record) for name in names}

    def _parameter(self, name: str, text: str, entity: Entity[Any], record: Record) -> Any:
        if re.search(_ARITHMETIC.format(name=name), text, re.IGNORECASE):
            return 1
        if called := re.search(_CALLED.format(name=name), text, re.IGNORECASE):
            function, attribute = called.groups()
            value = record.get(attribute)
            return [] if function == "list_append" else next(iter(value or ["x"]), "x")
        assigned = {parameter: each for each, parameter in assignments_of(text).items()}
        compared = re.findall(_COMPARED.format(name=name), text)
        unequal = [attribute for attribute, sign in compared if sign == "<>"]
        other = assigned.get(name) or next(iter(unequal), None)
        if other is not None:
            return self._other_value(entity, other, record)
        between = re.findall(_BETWEEN.format(name=name), text, re.IGNORECASE)
        attribute = next((each for each, _ in compared), None) or next(iter(between), name)
        if attribute in record:
            return record[attribute]
        if attribute == self.design.table(entity.table).ttl:
            return int(BEGINNING.timestamp())
        return sample(entity, attribute, 0) if entity.attribute(attribute) else 1

    def _other_value(self, entity: Entity[Any], attribute: str, record: Record) -> Any:
        """Return a value of an attribute that a record does not have, if there is one."""
        for k in range(1, 4):
            value = sample(entity, attribute, k)
            if value != record.get(attribute):
                return value
        return record.get(attribute)


def _aligned(text: str, own: str, record: Record) -> dict[str, Any]:
    """Return the fields of a template, with the values of the fields at the same places in own."""
    if not text:
        return {}
    theirs = parse_template(text).placeholders
    ours = parse_template(own).placeholders
    return {
        each.field: record[mine.field]
        for each, mine in zip(theirs, ours, strict=False)
        if mine.field in record
    }
