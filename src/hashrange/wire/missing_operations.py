"""Logs each operation that a client called and this server does not have, once.

Names come from clients, so only what looks like the name of an operation is logged, and only so
many of them.
"""

from __future__ import annotations

import logging
import re
from typing import Final, final

from hashrange.limits import MISSING_OPERATIONS_LOGGED_MAX

_LOGGER: Final = logging.getLogger("hashrange.pipeline")
_NAME: Final = re.compile("[A-Z][A-Za-z0-9]{2,63}")


@final
class MissingOperations:
    """The missing operations that were logged; one per server process."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def note(self, service: str, operation: str) -> None:
        """Log that an operation is missing, unless that was done; `service` may be empty."""
        name = (service, operation)
        if name in self._logged or len(self._logged) >= MISSING_OPERATIONS_LOGGED_MAX:
            return
        if not _NAME.fullmatch(operation):
            return
        self._logged.add(name)
        of_service = f" of {service}" if service else ""
        _LOGGER.warning("Hashrange does not implement %s%s", operation, of_service)
