"""Python functions: each invocation in a process of the function's own, kept for the next one.

Processes are started when they are needed, at most as many as the function may run at a time. One
that takes too long is killed with everything it started; one that dies is replaced by the next
invocation. See `worker` for what is said between server and process.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from typing import Any, Final, final

import orjson

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
    make_context,
    timed_out,
)

_LENGTH: Final = struct.Struct(">I")
_WORKER: Final = "hashrange.services.triggers.worker"
_START_SECONDS_MAX: Final = 30.0
_END_SECONDS_MAX: Final = 1.0


@final
class PythonTarget:
    """A `module:function` and its processes."""

    def __init__(self, world: World, function: FunctionRecord, surroundings: Surroundings) -> None:
        self._world = world
        self._function = function
        self._surroundings = surroundings
        self._places = asyncio.Semaphore(function.concurrency)
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._ending: set[asyncio.Task[None]] = set()

    async def invoke(self, invocation: Invocation) -> Outcome:
        """Call the function in an idle process, or in a new one."""
        async with self._places:
            process = self._take_idle() or await self._start()
            if isinstance(process, Outcome):
                return process
            try:
                outcome = await self._call(process, invocation)
            except BaseException:
                self._forget(process)
                raise
            if process.is_over:
                self._forget(process)
            else:
                self._idle.append(process)
            return outcome

    async def close(self) -> None:
        """End all processes."""
        self._idle.clear()
        for process in list(self._all):
            self._forget(process)
        await asyncio.gather(*self._ending)

    def _take_idle(self) -> _Process | None:
        while self._idle:
            process = self._idle.pop()
            if not process.is_over:
                return process
            self._forget(process)
        return None

    async def _start(self) -> _Process | Outcome:
        function = self._function
        environment = self._surroundings.environment(self._world, function)
        directory = function.directory or os.getcwd()
        paths = [directory, environment.get("PYTHONPATH", ""), *_package_paths()]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        try:
            started = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _WORKER, function.target),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(error=f"cannot start: {error}", is_invoked=False)
        process = _Process(function.name, started)
        self._all.add(process)
        try:
            async with asyncio.timeout(_START_SECONDS_MAX):
                first = await process.receive()
        except TimeoutError:
            self._forget(process)
            return Outcome(error="loading the function took too long")
        except BaseException:
            self._forget(process)
            raise
        if first.get("ready"):
            return process
        self._forget(process)
        return _failure(function, first)

    async def _call(self, process: _Process, invocation: Invocation) -> Outcome:
        function = self._function
        context = make_context(self._world, function, invocation.request_id)
        message = b'{"context":%b,"event":%b}' % (orjson.dumps(context), invocation.event)
        try:
            async with asyncio.timeout(function.timeout_seconds):
                answer = await process.ask(message)
        except TimeoutError:
            process.kill()
            return timed_out(function)
        if "answer" in answer:
            return Outcome(answer["answer"])
        return _failure(function, answer)

    def _forget(self, process: _Process) -> None:
        process.kill()
        if process in self._all:
            self._all.discard(process)
            ending = asyncio.create_task(process.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)


@final
class _Process:
    """One process of a function."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._input = process.stdin
        self._output = process.stdout
        self._logging = asyncio.create_task(log_lines(name, process.stderr))
        self.is_over = False

    async def ask(self, message: bytes) -> dict[str, Any]:
        """Send a request and return the answer."""
        try:
            self._input.write(_LENGTH.pack(len(message)) + message)
            await self._input.drain()
        except (BrokenPipeError, ConnectionResetError):
            return self._died()
        return await self.receive()

    async def receive(self) -> dict[str, Any]:
        """Return what the process says next."""
        try:
            (length,) = _LENGTH.unpack(await self._output.readexactly(_LENGTH.size))
            if length > ANSWER_BYTES_MAX:
                self.kill()
                return {"error": {"errorMessage": "the answer is too large"}}
            answer: dict[str, Any] = orjson.loads(await self._output.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionResetError, orjson.JSONDecodeError):
            return self._died()
        return answer

    def kill(self) -> None:
        """End the process at once, with everything it started."""
        self.is_over = True
        kill_group(self._process)

    async def end(self) -> None:
        """Wait until a killed process and its output have ended."""
        _, late = await asyncio.wait([self._logging], timeout=_END_SECONDS_MAX)
        for task in late:
            task.cancel()
        await bury(self._process)

    def _died(self) -> dict[str, Any]:
        self.kill()
        return {"error": {"errorType": "Runtime.ExitError", "errorMessage": "the process ended"}}


def _package_paths() -> list[str]:
    """Return where the process finds the module it is started with."""
    import hashrange

    return [os.path.dirname(path) for path in hashrange.__path__]


def _failure(function: FunctionRecord, answer: dict[str, Any]) -> Outcome:
    error = answer.get("error") or {}
    text = f"{error.get('errorType', 'Error')}: {error.get('errorMessage', '')}"
    trace = "".join(error.get("stackTrace") or [])
    LOGGER.warning("%s failed: %s%s", function.name, text, f"\n{trace}" if trace else "")
    return Outcome(error=text)
