"""Every engine under one name, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.engine.base import Engine
from hashrange.engine.memory.cluster import ClusterMemoryEngine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.engine.sqlite.engine import Durability, SqliteEngine, acquire_directory
from tests.harness.cassandra import cassandra_engine
from tests.harness.played_cassandra import PlayedCassandra

TEST_SECONDS_MAX = 30


ENGINES = [
    "memory",
    "cluster",
    "sqlite",
    "sqlite-in-thread",
    "sqlite-relaxed",
    "sqlite-together",
    "sqlite-together-in-thread",
    "sqlite-encrypted",
    "sqlite-encrypted-together",
    "cassandra-played",
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run contract tests on every engine, or with --cassandra on Cassandra alone."""
    if "engine" in metafunc.fixturenames:
        found = metafunc.config.getoption("--cassandra")
        metafunc.parametrize("engine", ["cassandra"] if found else ENGINES, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty engine, closed by the hook below inside the test's own event loop."""
    if request.param == "memory":
        yield MemoryEngine()
        return
    if request.param == "cluster":
        yield ClusterMemoryEngine()
        return
    if request.param == "cassandra-played":
        yield PlayedCassandra(no_answer=0.1).engine()
        return
    if request.param == "cassandra":
        yield cassandra_engine(request.config.getoption("--cassandra"))
        return
    key = bytes(32) if "encrypted" in request.param else None
    lock = acquire_directory(tmp_path / "data", server_key=key)
    durability: Durability = "relaxed" if request.param == "sqlite-relaxed" else "full"
    yield SqliteEngine.open(
        tmp_path / "data",
        durability=durability,
        writes_together="together" in request.param,
        quick_seconds=0.0 if "in-thread" in request.param else 60.0,
        server_key=key,
    )
    lock.release()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end, then close the engine it was given."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}

    async def run() -> None:
        try:
            await asyncio.wait_for(pyfuncitem.obj(**arguments), TEST_SECONDS_MAX)
        finally:
            if "engine" in arguments:
                await asyncio.wait_for(arguments["engine"].close(), TEST_SECONDS_MAX)

    asyncio.run(run())
    return True
