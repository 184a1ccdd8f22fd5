"""Leases: at most one holder of each name, until it lets go."""

from __future__ import annotations

import pytest

from hashrange.engine.base import Engine

SECONDS = 0.2


async def test_a_lease_has_one_holder_until_it_is_released(engine: Engine) -> None:
    lease = await engine.lease("work", SECONDS)
    assert lease is not None
    assert lease.is_held
    assert await engine.lease("work", SECONDS) is None
    await lease.release()
    assert not lease.is_held
    again = await engine.lease("work", SECONDS)
    assert again is not None
    assert again.is_held


async def test_leases_of_different_names_have_nothing_to_do_with_each_other(engine: Engine) -> None:
    first = await engine.lease("one", SECONDS)
    second = await engine.lease("two", SECONDS)
    assert first is not None
    assert second is not None
    await first.release()
    assert second.is_held
    assert await engine.lease("two", SECONDS) is None


async def test_releasing_twice_takes_the_lease_from_nobody(engine: Engine) -> None:
    first = await engine.lease("work", SECONDS)
    assert first is not None
    await first.release()
    second = await engine.lease("work", SECONDS)
    await first.release()
    assert second is not None
    assert second.is_held
    assert await engine.lease("work", SECONDS) is None


@pytest.mark.parametrize("released", [False, True])
async def test_a_closed_engine_holds_no_lease(engine: Engine, released: bool) -> None:
    lease = await engine.lease("work", SECONDS)
    assert lease is not None
    if released:
        await lease.release()
    await engine.close()
    assert not lease.is_held
    await lease.release()
