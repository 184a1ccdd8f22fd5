"""AWS Security Token Service: who is calling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.neighbours.service import Handler, Service


def _handlers() -> Mapping[str, Handler]:
    from hashrange.neighbours.sts.operations import OPERATIONS

    return OPERATIONS


SERVICE: Final = Service("sts", _handlers, api_version="2011-06-15")
