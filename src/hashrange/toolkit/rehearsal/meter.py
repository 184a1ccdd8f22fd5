"""Counts what calls of a boto3 client consume: requests, items, capacity units."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

READING: Final = frozenset({"get_item", "query", "scan", "batch_get_item", "transact_get_items"})
WRITING: Final = frozenset(
    {"put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items"}
)


@final
@dataclass(slots=True)
class Reading:
    """What was counted between two moments."""

    requests: int = 0
    examined: int = 0
    returned: int = 0
    read_units: float = 0
    write_units: float = 0


@final
class Meter:
    """Stands in front of a boto3 client and adds up what its calls consume.

    Threads may share it: a scatter/gather query sends its requests at the same time.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = threading.Lock()
        self.reading = Reading()

    def reset(self) -> None:
        """Begin to count from zero."""
        self.reading = Reading()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return self._counting(name, method) if name in READING | WRITING else method

    def _counting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            answer = method(**{"ReturnConsumedCapacity": "INDEXES", **parameters})
            self._count(name, answer)
            return answer

        return call

    def _count(self, name: str, answer: Mapping[str, Any]) -> None:
        consumed = answer.get("ConsumedCapacity") or []
        units = sum(
            each.get("CapacityUnits", 0)
            for each in (consumed if isinstance(consumed, list) else [consumed])
        )
        with self._lock:
            self.reading.requests += 1
            if name in READING:
                examined, returned = _items(name, answer)
                self.reading.examined += examined
                self.reading.returned += returned
                self.reading.read_units += units
            else:
                self.reading.write_units += units


def _items(name: str, answer: Mapping[str, Any]) -> tuple[int, int]:
    if name in ("query", "scan"):
        return answer.get("ScannedCount", 0), answer.get("Count", 0)
    if name == "get_item":
        count = int("Item" in answer)
    elif name == "batch_get_item":
        count = sum(len(items) for items in answer.get("Responses", {}).values())
    else:
        count = sum("Item" in each for each in answer.get("Responses", []))
    return count, count
