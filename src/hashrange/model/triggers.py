"""Records of functions and of event source mappings (stream to function). Pure.

A function is a name for something outside the server that takes an event: a Python function, an
HTTP endpoint or a command. A mapping joins a stream to a function; its fields are those of Lambda's
event source mappings, and its state is computed from its fields and the clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson

from hashrange.errors import CorruptionError

FORMAT: Final = 1
KINDS: Final = ("python", "http", "command")
UNBOUNDED: Final = -1
"""As a number of retries or an age: until the record leaves the stream."""

NO_RESULT: Final = "No records processed"

_FUNCTION: Final = re.compile(
    r"(?:arn:aws[a-zA-Z-]*:lambda:([a-z0-9-]+):([0-9]{12}):function:|([0-9]{12}):function:)?"
    r"([a-zA-Z0-9-_]+)(?::(\$LATEST|[a-zA-Z0-9-_]+))?"
)

World = tuple[str, str]
"""Account and region."""


@dataclass(slots=True)
class FunctionRecord:
    """A function: `target` is a module:function, a URL, or a command line, by its kind."""

    name: str
    kind: str
    target: str
    directory: str | None = None  # working directory, and first entry of the module search path
    environment: dict[str, str] = field(default_factory=dict)
    timeout_seconds: float = 60.0
    concurrency: int = 4  # invocations at a time
    modified_at: float = 0.0

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "record": self})


@dataclass(slots=True)
class MappingRecord:
    """A mapping of a stream to a function."""

    uuid: str
    account: str
    region: str
    stream_arn: str
    function: str
    starting_position: str
    batch_size: int = 100
    window_seconds: int = 0
    lanes: int = 1  # batches of one shard that are under way at a time: ParallelizationFactor
    filters: list[str] = field(default_factory=list)
    retries_max: int = UNBOUNDED
    age_seconds_max: int = UNBOUNDED
    bisects: bool = False
    reports_failures: bool = False  # the function reports which records failed
    destination: str | None = None  # where discarded batches are reported
    is_enabled: bool = True
    is_configured: bool = False  # by the settings of the server, not by a request
    modified_at: float = 0.0
    settled_at: float = 0.0  # when its last change of state is complete
    passing_state: str = "Creating"
    described: dict[str, Any] = field(default_factory=dict)  # members without effect here

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{self.region}:{self.account}:event-source-mapping:{self.uuid}"

    @property
    def function_arn(self) -> str:
        return function_arn((self.account, self.region), self.function)

    def state(self, now: float) -> str:
        """Return its State."""
        if now < self.settled_at:
            return self.passing_state
        return "Enabled" if self.is_enabled else "Disabled"

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "record": self})


@dataclass(slots=True)
class Position:
    """The progress of a mapping in a shard: the next record of each lane."""

    lanes: list[int] = field(default_factory=list)
    has_ended: bool = False

    @property
    def first(self) -> int:
        """Where to go on reading."""
        return min(self.lanes)

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "record": self})


def function_arn(world: World, name: str) -> str:
    """Return the ARN of a function."""
    account, region = world
    return f"arn:aws:lambda:{region}:{account}:function:{name}"


def function_name(given: str) -> str | None:
    """Return the name meant by a function's name or ARN, without version or alias."""
    match = _FUNCTION.fullmatch(given)
    return None if match is None else match.group(4)


_Record = TypeVar("_Record", FunctionRecord, MappingRecord, Position)


def unpack(kind: type[_Record], row: bytes) -> _Record:
    """Return the record of a row."""
    try:
        document = orjson.loads(row)
        if document["format"] != FORMAT:
            raise CorruptionError(f"trigger record of format {document['format']!r}")
        return kind(**document["record"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CorruptionError(f"row is not a trigger record: {row[:80]!r}") from error
