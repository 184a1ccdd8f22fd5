"""Traces: requests with what they consumed, a JSON object per line.

    {"at": 1779019200.5, "operation": "Query", "parameters": {…}, "error": "",
     "units": {"Shop": 1.5, "Shop.GSI1": 1}, "examined": 20, "returned": 20}

`parameters` are those of the API. `units` are capacity units by store; `error` is an error code.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, final

from hashrange.toolkit.errors import DesignError

READING: Final = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
WRITING: Final = frozenset(
    {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
)


@final
@dataclass(frozen=True, slots=True)
class Request:
    """One request and what it consumed."""

    at: float
    operation: str
    parameters: Mapping[str, Any]
    error: str = ""
    units: Mapping[str, float] = field(default_factory=dict)
    examined: int = 0
    returned: int = 0

    @property
    def is_read(self) -> bool:
        return self.operation in READING

    @property
    def is_throttled(self) -> bool:
        return self.error in ("ProvisionedThroughputExceededException", "ThrottlingException")


def read_trace(path: str | Path) -> Iterator[Request]:
    """Yield the requests of a trace file."""
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield Request(**json.loads(line, object_hook=_with_bytes))
            except (TypeError, ValueError) as error:
                raise DesignError(f"{path}, line {number}, is no request: {error}") from error


def line_of(request: Request) -> str:
    """Return a request as a line of a trace."""
    return json.dumps(asdict(request), default=_without_bytes, separators=(",", ":")) + "\n"


def _without_bytes(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return {"bytes": base64.b64encode(value).decode()}
    return str(value)


def _with_bytes(document: dict[str, Any]) -> Any:
    if document.keys() == {"bytes"}:
        return base64.b64decode(document["bytes"])
    return document


def units_of(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return capacity units by store, from the ConsumedCapacity of an answer."""
    consumed = answer.get("ConsumedCapacity") or []
    found: dict[str, float] = {}
    for each in consumed if isinstance(consumed, list) else [consumed]:
        table = each["TableName"].rpartition("/")[2]
        indexes = each.get("GlobalSecondaryIndexes", {})
        rest = each.get("CapacityUnits", 0.0)
        for name, index in indexes.items():
            store = f"{table}.{name}"
            found[store] = found.get(store, 0.0) + index.get("CapacityUnits", 0.0)
            rest -= index.get("CapacityUnits", 0.0)
        if rest > 0:
            found[table] = found.get(table, 0.0) + rest
    return found
