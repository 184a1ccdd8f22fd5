"""Large requests are let go part by part, down to the last one."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from hashrange.limits import LIST_MEMBERS_MAX
from hashrange.wire.large_requests import dismantle


class Part:
    """A value that can be watched."""


def test_short_and_long_parts_are_all_let_go_although_the_request_is_still_held():
    parts = [Part() for _ in range(4)]
    kept = [weakref.ref(part) for part in parts]
    long_list: list[Any] = [{"N": "1"}] * LIST_MEMBERS_MAX + [parts[0], parts[1]]
    long_object: dict[str, Any] = {str(number): "x" for number in range(LIST_MEMBERS_MAX)}
    long_object["part"] = parts[2]
    request = {"Item": {"l": {"L": long_list}, "m": {"M": long_object}, "s": [parts[3]]}}
    del parts
    asyncio.run(dismantle(request))
    assert [reference() for reference in kept] == [None] * 4
    assert (request, long_list, long_object) == ({}, [], {})
