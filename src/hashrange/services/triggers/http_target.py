"""HTTP endpoints as functions: the event is posted, the answer is the body."""

from __future__ import annotations

import asyncio
from typing import Final, final

from hashrange.model.triggers import FunctionRecord, World, function_arn
from hashrange.services.triggers.http_client import HttpError, post
from hashrange.services.triggers.lanes import Outcome
from hashrange.services.triggers.targets import LOGGER, Invocation, read_answer, timed_out

_ERROR_BYTES_SHOWN: Final = 200


@final
class HttpTarget:
    """An endpoint: any answer with a status of 2xx is success."""

    def __init__(self, world: World, function: FunctionRecord) -> None:
        self._function = function
        self._arn = function_arn(world, function.name)
        self._places = asyncio.Semaphore(function.concurrency)

    async def invoke(self, invocation: Invocation) -> Outcome:
        """Post the event."""
        function = self._function
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Invoked-Function-Arn": self._arn,
        }
        async with self._places:
            try:
                async with asyncio.timeout(function.timeout_seconds):
                    status, body = await post(function.target, invocation.event, headers)
            except TimeoutError:
                return timed_out(function)
            except OSError as error:
                text = f"{function.target} cannot be reached: {error}"
                LOGGER.warning("%s: %s", function.name, text)
                return Outcome(error=text, is_invoked=False)
            except HttpError as error:
                LOGGER.warning("%s failed: %s", function.name, error)
                return Outcome(error=str(error))
        if 200 <= status < 300:
            return read_answer(body)
        text = f"status {status}: {body[:_ERROR_BYTES_SHOWN].decode(errors='replace')}"
        LOGGER.warning("%s failed: %s", function.name, text)
        return Outcome(error=text)

    async def close(self) -> None:
        """Nothing is kept between invocations."""
