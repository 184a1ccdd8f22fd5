"""Records the requests of a boto3 client as a trace.

    with open("trace.jsonl", "a") as file:
        record(boto3.client("dynamodb"), file.write)

Requests that do not ask for their consumed capacity are made to ask for it. Threads may share the
client if `sink` may be called from several threads; a file's `write` of one line may.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from hashrange.toolkit.watch.trace import READING, WRITING, Request, line_of, units_of

_KEY: Final = "hashrange_trace"


def record(
    client: Any, sink: Callable[[str], object], clock: Callable[[], float] = time.time
) -> Callable[[], None]:
    """Send a line for each request of a client to a sink; return how to stop."""
    events = client.meta.events

    def before(params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if model.name in READING | WRITING:
            params.setdefault("ReturnConsumedCapacity", "INDEXES")
            context[_KEY] = (clock(), dict(params))

    def after(parsed: Mapping[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        started = context.pop(_KEY, None)
        if started is not None:
            at, parameters = started
            sink(line_of(_request(model.name, at, parameters, parsed)))

    events.register_last("before-parameter-build.dynamodb", before)
    events.register("after-call.dynamodb", after)

    def stop() -> None:
        events.unregister("before-parameter-build.dynamodb", before)
        events.unregister("after-call.dynamodb", after)

    return stop


def _request(
    operation: str, at: float, parameters: dict[str, Any], answer: Mapping[str, Any]
) -> Request:
    error = answer.get("Error", {}).get("Code", "")
    examined, returned = _counts(operation, answer)
    parameters.pop("ReturnConsumedCapacity", None)
    return Request(at, operation, parameters, error, units_of(answer), examined, returned)


def _counts(operation: str, answer: Mapping[str, Any]) -> tuple[int, int]:
    if operation in ("Query", "Scan"):
        return answer.get("ScannedCount", 0), answer.get("Count", 0)
    if operation == "GetItem":
        count = int("Item" in answer)
    elif operation == "BatchGetItem":
        count = sum(len(items) for items in answer.get("Responses", {}).values())
    elif operation == "TransactGetItems":
        count = sum("Item" in each for each in answer.get("Responses", []))
    else:
        count = 0
    return count, count
