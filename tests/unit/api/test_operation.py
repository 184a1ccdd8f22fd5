"""Requests that meet a change of the catalog are repeated, not failed."""

import asyncio
from typing import Any

import pytest

from hashrange.api import operation
from hashrange.api.operation import Operation, deferred
from hashrange.api.registry import DYNAMODB
from hashrange.api.scope import RequestScope
from hashrange.api.shapes.structures import Structure
from hashrange.errors import StaleVersionError, TableNotFoundException, ValidationException
from tests.harness.calls import scope_in
from tests.harness.tables import Tables


def run_after(refusals: int) -> tuple[int, RequestScope]:
    """Run a request that is refused so often; return the number of attempts and the scope."""
    attempts = 0

    async def handler(scope: RequestScope, request: dict[str, Any]) -> dict[str, Any]:
        nonlocal attempts
        attempts += 1
        scope.touch_table("table")
        scope.note_read("table", 1.0)
        scope.note_write("table", 2.0)
        scope.note_rows(3, 300, 1, 100)
        if attempts <= refusals:
            raise StaleVersionError("built on an older catalog")
        return {"Attempts": attempts}

    scope = scope_in(Tables().context)
    put = Operation("PutItem", Structure("Input", {}), handler)
    answering: Any = put.run(scope, {})
    return asyncio.run(answering)["Attempts"], scope


@pytest.mark.parametrize("refusals", [0, 1, 3])
def test_a_request_on_a_stale_catalog_is_repeated(refusals: int) -> None:
    assert run_after(refusals)[0] == refusals + 1


def test_only_the_last_attempt_is_noted() -> None:
    scope = run_after(2)[1]
    assert scope.resources == ["arn:aws:dynamodb:us-east-1:000000000000:table/table"]
    assert scope.consumed == [("table", None, 1.0, 0.0), ("table", None, 0.0, 2.0)]
    assert (scope.examined_count, scope.examined_bytes) == (3, 300)
    assert (scope.returned_count, scope.returned_bytes) == (1, 100)


def test_repeating_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "_STALE_ATTEMPTS_MAX", 3)
    with pytest.raises(StaleVersionError):
        run_after(100)


def test_every_operation_has_a_shape_and_those_that_are_loaded_later_are_themselves() -> None:
    for name, each in DYNAMODB.operations.items():
        assert each.name == name
        assert each.service is DYNAMODB
        assert each.shape.members is not None


@pytest.mark.parametrize("looks_first", [True, False])
def test_an_operation_that_is_loaded_later_checks_and_runs_like_the_one_it_is(
    looks_first: bool,
) -> None:
    (later,) = deferred("hashrange.api.recovery.operations", "DescribeContinuousBackups")
    if looks_first:
        assert "TableName" in later.shape.members
        later.check_values({"TableName": "some-table"})
    with pytest.raises(ValidationException, match="tableName"):
        later.check({})
    tables = Tables()
    with pytest.raises(TableNotFoundException):
        asyncio.run(_run(later, scope_in(tables.context), {"TableName": "none"}))


async def _run(each: Operation, scope: RequestScope, request: dict[str, Any]) -> dict[str, Any]:
    return await each.run(scope, request)


def test_the_values_of_an_operation_that_is_loaded_later_can_be_checked_first() -> None:
    (later,) = deferred("hashrange.api.recovery.operations", "DescribeContinuousBackups")
    later.check_values({"TableName": "some-table"})
    assert later.check_values == later.shape.check_values
