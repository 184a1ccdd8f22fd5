"""Runs plans with blocking boto3 calls.

Concurrency of `Together` is threads: boto3's low-level clients may be shared between threads. The
threads of a call end with it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, final

from hashrange.toolkit.client.plans import Call, Invoke, Pause, Plan, Request

Result = TypeVar("Result")

_RESOURCE_HANDLERS: Final = (
    ("before-parameter-build.dynamodb", "dynamodb-attr-value-input"),
    ("before-parameter-build.dynamodb", "dynamodb-condition-expression"),
    ("after-call.dynamodb", "dynamodb-attr-value-output"),
)


@final
class SyncDriver:
    """Carries out calls on boto3 clients, by the name of their service."""

    def __init__(
        self,
        client: Any,
        others: Mapping[str, Any] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client = low_level(client)
        self._clients = {"dynamodb": self.client, **(others or {})}
        self._sleep = sleep

    def run(self, plan: Plan[Result]) -> Result:
        """Run a plan to its end and return its result."""
        try:
            request = next(plan)
            while True:
                try:
                    answer = self._answer(request)
                except BaseException as error:  # noqa: BLE001 - the plan decides what it means
                    request = plan.throw(error)
                else:
                    request = plan.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _answer(self, request: Request) -> Any:
        if isinstance(request, Call):
            client = self._clients.get(request.service)
            if client is None:
                raise LookupError(f"this needs a boto3 client for {request.service}")
            answer = getattr(client, request.method)(**request.parameters)
            if "Body" in answer:  # of an object in S3
                answer["Body"] = answer["Body"].read()
            return answer
        if isinstance(request, Pause):
            return self._sleep(request.seconds)
        if isinstance(request, Invoke):
            return request.function(*request.arguments)
        if len(request.plans) == 1:
            return [self.run(request.plans[0])]
        from concurrent.futures import ThreadPoolExecutor  # rarely needed, slow to import

        with ThreadPoolExecutor(min(request.width, len(request.plans)) or 1) as pool:
            return list(pool.map(self.run, request.plans))


def low_level(client: Any) -> Any:
    """Return the low-level client of a boto3 client, service resource or Table resource.

    The client inside a resource converts values itself. A shallow copy of it, with a copy of its
    events from which these conversions are removed, speaks the API's own form; the resource stays
    as it was.
    """
    if not hasattr(getattr(client, "meta", None), "client"):
        return client
    inner = client.meta.client
    # Not copy.copy: a botocore client without its attributes cannot be asked for anything.
    plain = object.__new__(type(inner))
    plain.__dict__.update(inner.__dict__)
    plain.meta = copy.copy(plain.meta)
    plain.meta.events = copy.copy(plain.meta.events)
    for event, handler_id in _RESOURCE_HANDLERS:
        plain.meta.events.unregister(event, unique_id=handler_id)
    return plain
