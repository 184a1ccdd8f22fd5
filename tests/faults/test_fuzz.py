"""Random requests never meet an internal error; see `fuzz`."""

from __future__ import annotations

import os

import pytest

from tests.faults.fuzz import KINDS, run

SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
REQUESTS = int(os.environ.get("HASHRANGE_FUZZ", "1500"))


@pytest.mark.parametrize("kind", [*KINDS, "http"])
def test_random_requests_are_answered_and_none_with_an_internal_error(kind: str) -> None:
    statuses = run(kind, REQUESTS, SEED)
    assert min(statuses[200], statuses[400]) > REQUESTS // 100, "nearly all are of one kind"
