"""Commands as functions: the event on standard input, the answer on standard output.

Each invocation is a process. Exit status 0 is success; what is written to standard error is logged.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import final

from hashrange.model.triggers import FunctionRecord, World
from hashrange.services.triggers.lanes import Outcome
from hashrange.services.triggers.targets import (
    ANSWER_BYTES_MAX,
    LOGGER,
    Invocation,
    Surroundings,
    bury,
    kill_group,
    log_lines,
    read_answer,
    timed_out,
)


@final
class CommandTarget:
    """A command line, split as a shell would, but run without one."""

    def __init__(self, world: World, function: FunctionRecord, surroundings: Surroundings) -> None:
        self._function = function
        self._arguments = shlex.split(function.target)
        self._environment = surroundings.environment(world, function)
        self._places = asyncio.Semaphore(function.concurrency)

    async def invoke(self, invocation: Invocation) -> Outcome:
        """Run the command with the event."""
        function = self._function
        environment = {**self._environment, "AWS_REQUEST_ID": invocation.request_id}
        async with self._places:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._arguments,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=function.directory or os.getcwd(),
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                LOGGER.warning("%s cannot be started: %s", function.name, error)
                return Outcome(error=f"cannot start: {error}", is_invoked=False)
            try:
                async with asyncio.timeout(function.timeout_seconds):
                    answer = await self._converse(process, invocation.event)
            except TimeoutError:
                return timed_out(function)
            finally:
                await bury(process)
        if answer is None:
            return Outcome(error="the answer is too large")
        if process.returncode != 0:
            text = f"exit status {process.returncode}"
            LOGGER.warning("%s failed: %s", function.name, text)
            return Outcome(error=text)
        return read_answer(answer)

    async def close(self) -> None:
        """Nothing is kept between invocations."""

    async def _converse(self, process: asyncio.subprocess.Process, event: bytes) -> bytes | None:
        """Return what the command answers; None when that is too much."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.TaskGroup() as group:
            group.create_task(_feed(process.stdin, event))
            group.create_task(log_lines(self._function.name, process.stderr))
            answer = group.create_task(_read_all(process.stdout))
            if await answer is None:
                kill_group(process)
        await process.wait()
        return answer.result()


async def _feed(stream: asyncio.StreamWriter, event: bytes) -> None:
    try:
        stream.write(event)
        await stream.drain()
        stream.close()
    except (BrokenPipeError, ConnectionResetError):
        pass  # a command may answer without reading all of the event


async def _read_all(stream: asyncio.StreamReader) -> bytes | None:
    chunks: list[bytes] = []
    room = ANSWER_BYTES_MAX
    while chunk := await stream.read(1 << 16):
        room -= len(chunk)
        if room < 0:
            return None
        chunks.append(chunk)
    return b"".join(chunks)
