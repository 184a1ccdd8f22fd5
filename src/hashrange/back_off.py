"""When to try what sometimes pays and sometimes does not."""

from __future__ import annotations

from typing import Final, final

_RESTS_MAX: Final = 63


@final
class BackOff:
    """Lets more and more occasions pass the more often something was tried in vain."""

    __slots__ = ("_rests", "_rests_left")

    def __init__(self) -> None:
        self._rests = 0
        self._rests_left = 0

    def is_due(self) -> bool:
        """Tell whether to try on this occasion."""
        if self._rests_left > 0:
            self._rests_left -= 1
            return False
        return True

    def note_success(self) -> None:
        """Try on every occasion from now on."""
        self._rests = 0
        self._rests_left = 0

    def note_failure(self) -> None:
        """Let occasions pass: none at first, then twice as many each time."""
        self._rests_left = self._rests
        self._rests = min(2 * self._rests + 1, _RESTS_MAX)
