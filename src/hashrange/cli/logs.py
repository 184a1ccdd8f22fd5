"""Log messages on standard error: lines for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys
from types import TracebackType
from typing import final

_ExceptionInformation = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def set_up_logging(level: str, form: str) -> None:
    """Send the messages of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        handler.setFormatter(_JsonFormatter())
    else:
        handler.setFormatter(_PlainFormatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # Messages of the event loop itself do not help operators.
    logging.getLogger("asyncio").setLevel(logging.WARNING)


@final
class _PlainFormatter(logging.Formatter):
    """Renders a record for people.

    What a client sent may be part of a message. Control characters in it could forge lines or
    drive a terminal, so they are written as escapes; only a traceback has lines of its own.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return _visible(super().formatMessage(record))

    def formatException(self, ei: _ExceptionInformation) -> str:  # noqa: N802 - logging's name
        return "\n".join(_visible(line) for line in super().formatException(ei).split("\n"))


def _visible(text: str) -> str:
    """Return a text with its control characters as escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


@final
class _JsonFormatter(logging.Formatter):
    """Renders a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        document = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{record.msecs:03.0f}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document)
