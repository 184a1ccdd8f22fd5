"""HTTP endpoints as functions: the event is posted, the answer is the body."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, final
from urllib.parse import urlsplit

from hashrange.model.triggers import FunctionRecord, World, function_arn
from hashrange.services.triggers.lanes import Outcome
from hashrange.services.triggers.targets import (
    ANSWER_BYTES_MAX,
    LOGGER,
    Invocation,
    read_answer,
    timed_out,
)

_ERROR_BYTES_SHOWN: Final = 200


@final
class HttpTarget:
    """An endpoint: any answer with a status of 2xx is success."""

    def __init__(self, world: World, function: FunctionRecord) -> None:
        self._function = function
        self._arn = function_arn(world, function.name)
        self._places = asyncio.Semaphore(function.concurrency)
        # The standard library's client waits, so each invocation has a thread to wait in.
        self._threads = ThreadPoolExecutor(function.concurrency, "hashrange-http")

    async def invoke(self, invocation: Invocation) -> Outcome:
        """Post the event."""
        function = self._function
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Invoked-Function-Arn": self._arn,
        }
        loop = asyncio.get_running_loop()
        async with self._places:
            call = loop.run_in_executor(
                self._threads,
                post,
                function.target,
                invocation.event,
                headers,
                function.timeout_seconds,
            )
            try:
                async with asyncio.timeout(function.timeout_seconds):
                    status, body = await call
            except TimeoutError:
                return timed_out(function)
            except (OSError, http.client.HTTPException) as error:
                text = f"{function.target} cannot be reached: {error}"
                LOGGER.warning("%s: %s", function.name, text)
                return Outcome(error=text, is_invoked=False)
        if 200 <= status < 300:
            return read_answer(body)
        text = f"status {status}: {body[:_ERROR_BYTES_SHOWN].decode(errors='replace')}"
        LOGGER.warning("%s failed: %s", function.name, text)
        return Outcome(error=text)

    async def close(self) -> None:
        """Take no more work; what is under way ends by its time-out."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def post(
    url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float
) -> tuple[int, bytes]:
    """Post a body and return status and body of the answer; blocks, follows no redirection."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=timeout_seconds)
    try:
        path = parts.path or "/"
        target = f"{path}?{parts.query}" if parts.query else path
        connection.request("POST", target, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read(ANSWER_BYTES_MAX)
    finally:
        connection.close()
