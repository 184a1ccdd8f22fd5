"""Reads by design: gets, queries over one or many keys, scans, batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hashrange.toolkit.client.operations import ReadOptions, TableContext, query_fetch, scan_fetch
from hashrange.toolkit.client.pages import Fetch, Source
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, SortCondition, parameters_of
from hashrange.toolkit.design.templates import KeyTemplate, parse_template
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.values import Item, from_wire_item

Arguments = Mapping[str, Any]
Decode = Callable[[Mapping[str, Any]], Any]


def query_source(
    design: Design,
    pattern: AccessPattern,
    context: TableContext,
    arguments: Arguments,
    decode: Decode,
) -> Source[Any]:
    """Return where the items of a query come from: a stage per time bucket, a fetch per shard."""
    partition, sort = design.read_key(pattern)
    fields = _with_ends(arguments)
    groups = parse_template(pattern.partition_key).render_groups(fields)
    newest_first = bool(arguments.get("newest_first", pattern.newest_first))
    options = _options(pattern, arguments, newest_first=newest_first)
    if any(len(group) > 1 for group in groups) and pattern.projection:
        options["projection"] = _with_keys(design, pattern)
    order = () if sort is None else _sort_operands(pattern.sort_key, fields)

    def fetch(value: Any) -> Fetch:
        expressions: dict[str, Any] = {"toolkit_pk": value}
        text = f"#{partition.name} = :toolkit_pk"
        if sort is not None and order:
            text += " AND " + _sort_text(sort.name, order[0], len(order) - 1)
            expressions.update(zip(("toolkit_low", "toolkit_high"), order[1:], strict=False))
        values = {**options.get("values", {}), **expressions}
        return query_fetch(context, text, {**options, "values": values})

    stages = [[fetch(value) for value in group] for group in groups]
    return Source(
        list(reversed(stages)) if newest_first else stages,
        lambda item: decode(from_wire_item(item)),
        _position_names(design, pattern),
        sort.name if sort else "",
        newest_first,
        bool(pattern.filter),
    )


def scan_source(
    pattern: AccessPattern, context: TableContext, arguments: Arguments, decode: Decode
) -> Source[Any]:
    """Return where the items of a scan come from."""
    options = _options(pattern, arguments, newest_first=False)

    def decoded(item: Item) -> Any:
        return decode(from_wire_item(item))

    return Source([[scan_fetch(context, options)]], decoded, is_filtered=bool(pattern.filter))


def _options(pattern: AccessPattern, arguments: Arguments, *, newest_first: bool) -> ReadOptions:
    used = parameters_of(pattern.filter)
    missing = [name for name in used if name not in arguments]
    if missing:
        raise DesignError(f"{pattern.name} needs {', '.join(missing)}")
    return {
        "index": pattern.index,
        "filter": pattern.filter,
        "values": {name: arguments[name] for name in used},
        "projection": pattern.projection,
        "consistent": bool(arguments.get("consistent", pattern.consistent)),
        "newest_first": newest_first,
    }


def _with_ends(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments with `x_from` and `x_to` for every pair that is given as `x`."""
    ends: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, tuple) and len(value) == 2:
            ends[f"{name}_from"], ends[f"{name}_to"] = value
    return {**ends, **arguments}


def _sort_operands(condition: SortCondition | None, fields: Arguments) -> tuple[Any, ...]:
    """Return operator and operands of the sort key condition; nothing if all items are wanted."""
    if condition is None:
        return ()
    if condition.operator == "begins_with":
        prefix = _prefix(parse_template(condition.value), fields)
        return ("begins_with", prefix) if prefix else ()
    return (condition.operator, *(parse_template(t).render(fields) for t in condition.templates))


def _prefix(template: KeyTemplate, fields: Arguments) -> str:
    given = [fields.get(name) is not None for name in template.fields]
    if given != sorted(given, reverse=True):
        raise DesignError(f"the prefix {template.text!r} can only be shortened at its end")
    return template.render_prefix(fields)


def _sort_text(name: str, operator: str, operands: int) -> str:
    if operator == "begins_with":
        return f"begins_with(#{name}, :toolkit_low)"
    if operands == 2:
        return f"#{name} BETWEEN :toolkit_low AND :toolkit_high"
    return f"#{name} {operator} :toolkit_low"


def _position_names(design: Design, pattern: AccessPattern) -> tuple[str, ...]:
    table = design.table(pattern.table)
    keys = [*table.key_attributes]
    if pattern.index:
        keys += table.index(pattern.index).key_attributes
    return tuple(dict.fromkeys(key.name for key in keys))


def _with_keys(design: Design, pattern: AccessPattern) -> Iterable[str]:
    return tuple(dict.fromkeys([*pattern.projection, *_position_names(design, pattern)]))
