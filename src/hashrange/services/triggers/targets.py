"""Targets: functions that can be called; invocations, and code that all kinds of target share."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol, final

import orjson

from hashrange.model.triggers import FunctionRecord, World, function_arn
from hashrange.services.triggers.lanes import Outcome

LOGGER: Final = logging.getLogger("hashrange.functions")

ANSWER_BYTES_MAX: Final = 6 * 1024 * 1024
_LOG_LINE_BYTES_MAX: Final = 64 * 1024
_PIPE_SECONDS_MAX: Final = 1.0


@final
class Invocation:
    """An event for a function, with an id of its own."""

    __slots__ = ("event", "request_id")

    def __init__(self, event: bytes) -> None:
        self.event = event
        self.request_id = str(uuid.uuid4())


class Target(Protocol):
    """A function as it can be called; used from one event loop."""

    async def invoke(self, invocation: Invocation) -> Outcome:
        """Call the function within its time; failures are outcomes."""

    async def close(self) -> None:
        """Let go of whatever the function needs to run."""


@final
class Surroundings:
    """The environment of functions: the server's endpoint and environment variables."""

    def __init__(self, endpoint: str | None, variables: Mapping[str, str]) -> None:
        self._endpoint = endpoint
        self._variables = dict(variables)

    def environment(self, world: World, function: FunctionRecord) -> dict[str, str]:
        """Return the environment of a function's process.

        An SDK in it reaches this server, in the region of the mapping, unless it is told otherwise.
        """
        account, region = world
        given = {
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
        }
        if self._endpoint is not None:
            given["AWS_ENDPOINT_URL_DYNAMODB"] = self._endpoint
            given["AWS_ENDPOINT_URL_DYNAMODB_STREAMS"] = self._endpoint
        if "AWS_ACCESS_KEY_ID" not in self._variables:
            given |= {"AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "local"}
        return {**self._variables, **given, **function.environment}


def make_context(world: World, function: FunctionRecord, request_id: str) -> dict[str, Any]:
    """Return the context document of an invocation."""
    return {
        "request_id": request_id,
        "function_name": function.name,
        "function_arn": function_arn(world, function.name),
        "timeout_seconds": function.timeout_seconds,
    }


def timed_out(function: FunctionRecord) -> Outcome:
    """Return the outcome of an invocation that took too long."""
    return Outcome(error=f"Task timed out after {function.timeout_seconds:.2f} seconds")


def read_answer(text: bytes) -> Outcome:
    """Return the outcome of a function that answered with some text: JSON, or nothing."""
    if not text.strip():
        return Outcome(None)
    try:
        return Outcome(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        return Outcome(error=f"the answer is not JSON: {error}")


def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process that leads a session, and everything it started there."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def bury(process: asyncio.subprocess.Process) -> None:
    """Kill a process, wait for its end, and let go of its pipes."""
    kill_group(process)
    await process.wait()
    if process.stdin is not None:
        process.stdin.close()
    # Read the pipes to their end; only a process outside the session can keep them open.
    with suppress(TimeoutError):
        async with asyncio.timeout(_PIPE_SECONDS_MAX):
            for stream in (process.stdout, process.stderr):
                while stream is not None and await stream.read(_LOG_LINE_BYTES_MAX):
                    pass


async def log_lines(name: str, stream: asyncio.StreamReader) -> None:
    """Log what a function writes to its standard error, line by line."""
    rest = b""
    while chunk := await stream.read(_LOG_LINE_BYTES_MAX):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) >= _LOG_LINE_BYTES_MAX:
            lines, rest = [*lines, rest], b""
        for line in lines:
            LOGGER.info("%s: %s", name, line.decode(errors="replace").rstrip())
    if rest:
        LOGGER.info("%s: %s", name, rest.decode(errors="replace"))
