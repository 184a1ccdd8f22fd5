"""A protected table on an engine that can do everything, and on one that plays a cluster."""

from collections.abc import Iterator

import pytest

from tests.harness.engines import memory_plays
from tests.harness.protected import ProtectedTable


@pytest.fixture(params=["memory", "cluster"])
def table(request: pytest.FixtureRequest) -> Iterator[ProtectedTable]:
    with memory_plays(request.param):
        made = ProtectedTable()
        yield made
        made.close()
