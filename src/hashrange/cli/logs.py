"""Log messages on standard error: lines for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys
from typing import final


def set_up_logging(level: str, form: str) -> None:
    """Send the messages of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        handler.setFormatter(_JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # Messages of the event loop itself do not help operators.
    logging.getLogger("asyncio").setLevel(logging.WARNING)


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
