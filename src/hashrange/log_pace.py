"""A pace for log messages that would otherwise repeat with every request: one a minute."""

from __future__ import annotations

from time import monotonic
from typing import Final, final

_PACE_SECONDS: Final = 60.0


@final
class LogPace:
    """Tells whether a message is due; one for each kind of message of a process."""

    __slots__ = ("_left_out", "_logged_at")

    def __init__(self) -> None:
        self._logged_at = -_PACE_SECONDS
        self._left_out = 0

    def remark(self) -> str | None:
        """Return what to add to the message, or None if it is not due."""
        now = monotonic()
        if now - self._logged_at < _PACE_SECONDS:
            self._left_out += 1
            return None
        remark = f" ({self._left_out} like it were not logged since the last one)"
        remark = remark if self._left_out else ""
        self._logged_at = now
        self._left_out = 0
        return remark
