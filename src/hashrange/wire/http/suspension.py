"""Resumes a handler that was suspended, without a task: by the future that it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


def resume_after(
    loop: asyncio.AbstractEventLoop, awaited: Any, resume: Callable[..., None]
) -> None:
    """Have a handler resumed when what it yielded is done."""
    if awaited is None:
        # The handler yielded with sleep(0).
        loop.call_soon(resume)
    else:
        # As asyncio.Task does: acknowledges that the future was yielded to its waiter.
        awaited._asyncio_future_blocking = False
        awaited.add_done_callback(resume)
