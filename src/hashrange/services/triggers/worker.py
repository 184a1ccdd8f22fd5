"""The process in which a Python function runs: `python -m ...worker module:function`.

message  := length (4 bytes, big-endian) JSON

The server's end: {"context": {...}, "event": ...} per invocation. This end: {"ready": true} or
{"error": ...} once the function is loaded, then per invocation {"answer": ...} or {"error": ...}.
Messages travel over the standard input and output this process was started with; what the function
prints goes to standard error. The process ends when the server closes its end.

This module imports nothing of the server, so that a function's process has no other modules.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")

Handler = Callable[[Any, Any], Any]


class Context:
    """The context of an invocation, with the members of Lambda's runtime."""

    function_version = "$LATEST"
    memory_limit_in_mb = "128"
    identity = None
    client_context = None

    def __init__(self, members: dict[str, Any]) -> None:
        self.aws_request_id: str = members["request_id"]
        self.function_name: str = members["function_name"]
        self.invoked_function_arn: str = members["function_arn"]
        self.log_group_name = f"/aws/lambda/{self.function_name}"
        self.log_stream_name = f"[$LATEST]{os.getpid()}"
        self._deadline: float = time.monotonic() + members["timeout_seconds"]

    def get_remaining_time_in_millis(self) -> int:
        """Return how long this invocation may still take."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


def main() -> None:
    """Load the function and answer until the server has nothing more to ask."""
    requests, answers = _take_streams()
    try:
        handler = _load(sys.argv[1])
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is the function's
        _send(answers, {"error": _describe(error)})
        return
    _send(answers, {"ready": True})
    while (message := _receive(requests)) is not None:
        _send(answers, _answer(handler, message))


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the standard streams for messages, and give the function others."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    return requests, answers


def _load(target: str) -> Handler:
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{target} cannot be called")
    handler: Handler = found
    return handler


def _answer(handler: Handler, message: bytes) -> dict[str, Any]:
    request = json.loads(message)
    try:
        answer = handler(request["event"], Context(request["context"]))
        # Before it is sent, so that what is no JSON is the function's error.
        json.dumps(answer)
    except BaseException as error:  # noqa: BLE001  # as above; also SystemExit
        return {"error": _describe(error)}
    return {"answer": answer}


def _describe(error: BaseException) -> dict[str, Any]:
    return {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "stackTrace": traceback.format_tb(error.__traceback__),
    }


def _send(answers: BinaryIO, document: dict[str, Any]) -> None:
    message = json.dumps(document).encode()
    try:
        answers.write(_LENGTH.pack(len(message)) + message)
        answers.flush()
    except BrokenPipeError:
        # The server is gone; the answer is not needed.
        os._exit(0)


def _receive(requests: BinaryIO) -> bytes | None:
    head = requests.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = requests.read(length)
    return message if len(message) == length else None


if __name__ == "__main__":
    main()
