"""A temporary file for items on their way: without a name, and sealed with a key that nobody keeps.

First it is written, then read from its start, in order. The key is in the memory of this
process only, so what is on the disk can never be read, whether the server has a key or not.
"""

from __future__ import annotations

import os
import tempfile
from types import TracebackType
from typing import Final, Self, final

from hashrange.sealing import KEY_BYTES, StreamOpener, StreamSealer

_PURPOSE: Final = "temporary files"
_READ_BYTES: Final = 1 << 18


@final
class SealedSpool:
    """A file that is written once and read once; `read` is what readers of files expect."""

    def __init__(self) -> None:
        self._key = os.urandom(KEY_BYTES)
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `__exit__`
        self._sealer = StreamSealer(self._key, _PURPOSE, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, content: bytes) -> None:
        """Append content."""
        self._write(self._sealer.update(content))

    def rewind(self) -> None:
        """End the writing; what follows is read from the start."""
        self._write(self._sealer.finish())
        self.seek(0)

    def seek(self, position: int) -> None:
        """Go back to the start, which is the only position to go to."""
        assert position == 0
        self._file.seek(0)
        self._opener = StreamOpener(self._key, _PURPOSE, "")
        self._waiting = bytearray()
        self._position = 0
        self._is_read = False

    def tell(self) -> int:
        """Return the position of what is read next."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than asked for only at the end; all of them for -1."""
        while not self._is_read and (size < 0 or len(self._waiting) < size):
            sealed = self._file.read(_READ_BYTES)
            self._is_read = not sealed
            self._waiting += self._opener.update(sealed) if sealed else self._opener.finish()
        end = len(self._waiting) if size < 0 else size
        content = bytes(self._waiting[:end])
        del self._waiting[:end]
        self._position += len(content)
        return content

    def _write(self, sealed: bytes) -> None:
        view = memoryview(sealed)
        while view:
            view = view[self._file.write(view) :]
