"""Tests of streams run on the memory engine, and on it playing a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.engines import memory_plays


@pytest.fixture(autouse=True, params=["memory", "cluster"])
def _engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test on both engines; one shard, since tests look for the order of changes."""
    with memory_plays(request.param, shards=1):
        yield
