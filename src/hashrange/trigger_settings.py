"""Functions and triggers in the settings file: `[functions.NAME]` and `[[triggers]]`.

They are read into the same records as those registered by requests, and checked by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hashrange.api.triggers import event_sources, functions
from hashrange.errors import ClientError
from hashrange.model.triggers import KINDS, FunctionRecord, MappingRecord

_DEFAULT_ACCOUNT: Final = "000000000000"
_DEFAULT_REGION: Final = "us-east-1"
_TABLE: Final = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
_POSITIONS: Final = {"trim-horizon": "TRIM_HORIZON", "latest": "LATEST"}

# Key of the file, and the member of a request that means the same.
FUNCTION_KEYS: Final = {
    "directory": "Directory",
    "environment": "Environment",
    "timeout": "TimeoutSeconds",
    "concurrency": "Concurrency",
}
TRIGGER_KEYS: Final = {
    "batch-size": "BatchSize",
    "window": "MaximumBatchingWindowInSeconds",
    "parallel": "ParallelizationFactor",
    "retries": "MaximumRetryAttempts",
    "max-age": "MaximumRecordAgeInSeconds",
    "bisect": "BisectBatchOnFunctionError",
    "enabled": "Enabled",
}
_OTHER_TRIGGER_KEYS: Final = frozenset(
    ("table", "function", "account", "region", "start", "filters", "report-failures", "on-failure")
)


class TriggerSettingsError(Exception):
    """A function or trigger cannot be used; the message says which and why, for people."""


def read_functions(document: object, home: Path) -> tuple[FunctionRecord, ...]:
    """Return the functions of a settings file that lies in a directory."""
    if not isinstance(document, dict):
        raise TriggerSettingsError("functions are tables: [functions.NAME].")
    return tuple(_read_function(name, table, home) for name, table in document.items())


def _read_function(name: str, table: object, home: Path) -> FunctionRecord:
    place = f"functions.{name}"
    if not isinstance(table, dict):
        raise TriggerSettingsError(f"{place} is not a table.")
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        raise TriggerSettingsError(f"{place} needs one of {', '.join(KINDS)}.")
    _refuse_unknown(table, {*FUNCTION_KEYS, *kinds}, place)
    members = {FUNCTION_KEYS[key]: table[key] for key in table if key in FUNCTION_KEYS}
    members |= {"Name": name, "Kind": kinds[0], "Target": table[kinds[0]]}
    # A path in a file is meant from where the file is.
    members["Directory"] = str(home / str(members.get("Directory", ".")))
    try:
        functions.PUT.check(members)
        return functions.make_function(name, members, 0.0)
    except ClientError as error:
        raise TriggerSettingsError(f"{place}: {error.message}") from error


def read_triggers(document: object, known: frozenset[str]) -> tuple[MappingRecord, ...]:
    """Return the triggers of a settings file that knows some functions.

    Where a mapping has the ARN of its stream, these have the name of their table.
    """
    if not isinstance(document, list):
        raise TriggerSettingsError("triggers are a list of tables: [[triggers]].")
    found: list[MappingRecord] = []
    for number, table in enumerate(document, 1):
        place = f"triggers, number {number}"
        if not isinstance(table, dict):
            raise TriggerSettingsError(f"{place} is not a table.")
        _refuse_unknown(table, {*TRIGGER_KEYS, *_OTHER_TRIGGER_KEYS}, place)
        mapping = _read_trigger(table, place)
        if mapping.function not in known:
            raise TriggerSettingsError(f"{place}: there is no [functions.{mapping.function}].")
        found.append(mapping)
    return tuple(found)


def _read_trigger(table: dict[str, Any], place: str) -> MappingRecord:
    name = _text(table, "table", place)
    if not _TABLE.fullmatch(name):
        raise TriggerSettingsError(f"{place}: {name!r} is not the name of a table.")
    start = _text(table, "start", place, default="trim-horizon")
    if start not in _POSITIONS:
        raise TriggerSettingsError(f"{place}: start is trim-horizon or latest, not {start!r}.")
    mapping = MappingRecord(
        uuid="",
        account=_text(table, "account", place, default=_DEFAULT_ACCOUNT),
        region=_text(table, "region", place, default=_DEFAULT_REGION),
        stream_arn=name,
        function=_text(table, "function", place),
        starting_position=_POSITIONS[start],
        is_configured=True,
    )
    request = make_options(table)
    try:
        event_sources.UPDATE.check({**request, "UUID": ""})
        event_sources.check_options(request, files_allowed=True)
        return event_sources.apply_options(mapping, request)
    except ClientError as error:
        raise TriggerSettingsError(f"{place}: {error.message}") from error


def make_options(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request would say for the keys of a trigger."""
    request: dict[str, Any] = {
        member: table[key] for key, member in TRIGGER_KEYS.items() if key in table
    }
    if "filters" in table:
        request["FilterCriteria"] = {"Filters": [{"Pattern": text} for text in table["filters"]]}
    if "report-failures" in table:
        types = ["ReportBatchItemFailures"] if table["report-failures"] else []
        request["FunctionResponseTypes"] = types
    if "on-failure" in table:
        request["DestinationConfig"] = {"OnFailure": {"Destination": table["on-failure"]}}
    return request


def _text(table: dict[str, Any], key: str, place: str, *, default: str | None = None) -> str:
    text = table.get(key, default)
    if not isinstance(text, str) or not text:
        raise TriggerSettingsError(f"{place} needs a text for {key}.")
    return text


def _refuse_unknown(table: dict[str, Any], known: set[str], place: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise TriggerSettingsError(f"{place}: {unknown[0]} is not a setting of Hashrange.")
