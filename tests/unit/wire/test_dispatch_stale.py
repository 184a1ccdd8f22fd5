"""Requests that run into a change of the catalog are repeated, not failed."""

import asyncio
import json
from typing import Any

import pytest

from hashrange.api.operation import Context, Operation
from hashrange.api.shapes.structures import AttributeMap, Structure
from hashrange.errors import StaleVersionError
from hashrange.wire import dispatch
from hashrange.wire.auth.identity import Identity
from hashrange.wire.dispatch import Dispatcher
from tests.harness.tables import ACCOUNT, REGION, Tables


def answer_after(refusals: int) -> tuple[int, Any]:
    attempts = 0

    async def handler(context: Context, request: dict[str, Any]) -> dict[str, Any]:
        nonlocal attempts
        attempts += 1
        del request["Part"]  # a handler may use up its request
        if attempts <= refusals:
            raise StaleVersionError("built on an older epoch")
        return {"Attempts": attempts}

    operation = Operation("PutItem", Structure("Input", {"Part": AttributeMap()}), handler)
    context = Tables().context
    dispatcher = Dispatcher({"PutItem": operation}, lambda account, region: context)
    identity = Identity("AKIDEXAMPLE", ACCOUNT, REGION)
    call = dispatcher.answer(b"DynamoDB_20120810.PutItem", b'{"Part": {}}', identity)
    status, body = asyncio.run(call)
    return status, json.loads(body)


@pytest.mark.parametrize("refusals", [0, 1, 3])
def test_a_request_on_a_stale_catalog_is_repeated(refusals: int) -> None:
    assert answer_after(refusals) == (200, {"Attempts": refusals + 1})


def test_repeating_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_STALE_ATTEMPTS_MAX", 3)
    status, body = answer_after(100)
    assert status == 500
    assert body["__type"].endswith("InternalServerError")
