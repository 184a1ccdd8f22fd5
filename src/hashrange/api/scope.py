"""The scope of a request: its caller, its resources, its cost and its outcome.

The pipeline makes a scope when a request arrives, every stage reads and completes it, handlers add
what they touched and consumed, and the recorder sees it last. One request, one scope: nothing here
is shared or locked.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final, Protocol, final

from hashrange.api.operation import Context, Request
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.model.schema import Table
from hashrange.policies.evaluation import Grants

_AGENT_BYTES_MAX: Final = 512

Consumed = tuple[str, str | None, float, float]
"""Table name, index name (None for the table itself), read units and write units."""

Throttle = tuple[str, str | None, str]
"""Table name, index name (None for the table itself) and the reason of a throttled event."""


@final
class Caller:
    """The sender of a request: its principal, and the region and service it signed for.

    `world` is account and region: the tables of one world are isolated from those of all others.
    `grants` are the caller's policies; None on a server that has none, where all is allowed.
    `allowed` is for the authoriser: operations and table names that need no further look, each with
    the engine's change counter as of which that is so.
    """

    __slots__ = (
        "access_key",
        "account",
        "allowed",
        "arn",
        "grants",
        "region",
        "signing_name",
        "world",
    )

    def __init__(
        self,
        access_key: str,
        account: str,
        arn: str,
        region: str,
        signing_name: str,
        grants: Grants | None = None,
    ) -> None:
        self.access_key = access_key
        self.account = account
        self.arn = arn
        self.region = region
        self.signing_name = signing_name
        self.world = (account, region)
        self.grants = grants
        self.allowed: dict[tuple[str, str], int] = {}


NOBODY: Final = Caller("", "", "", "", "")
"""The caller of a request that is not authenticated."""


class Sink(Protocol):
    """A connection, to which an answer is sent in pieces."""

    async def send(self, piece: bytes) -> None: ...

    def abort(self) -> None: ...


@final
class Peer:
    """The client's end of a connection: its IP address, and whether the connection uses TLS.

    `sink` takes answers that are sent in pieces; a peer in this process has none. `tls` is the
    version of TLS and the cipher suite, None without TLS.
    """

    __slots__ = ("address", "is_secure", "sink", "tls")

    def __init__(
        self,
        address: str,
        *,
        is_secure: bool,
        sink: Sink | None = None,
        tls: tuple[str, str] | None = None,
    ) -> None:
        self.address = address
        self.is_secure = is_secure
        self.sink = sink
        self.tls = tls


IN_PROCESS: Final = Peer("", is_secure=False)
"""The peer of a request that came through no socket."""


@final
class RequestScope:
    """One request on its way through the stages.

    `context` exists once the caller is authenticated; `status` and `ended` exist when the recorder
    sees the scope. `resources` are ARNs, each once, in the order in which they were resolved.
    `error` and `reason` are the error type and message of the answer, empty when the request
    succeeded. `throttles` has an entry for each access that was throttled, which in a batch may be
    some of many. `requested_table` is the TableName of a refused request as the client sent it, of
    any type, for requests that were refused before their table was resolved. Sizes are in bytes as
    DynamoDB counts them. `parameters` are those of the request, there once it is decoded.
    `conflicts` names a table for each item that a transaction found locked. `at` is the earlier
    time at which a request reads, None for the present, and `between` the interval of the changes
    that it asks for, None for items. `is_bulky` marks requests with very many values, which are
    checked off the event loop (see `pauses.off_loop`).
    """

    __slots__ = (
        "agent",
        "at",
        "between",
        "caller",
        "conflicts",
        "consumed",
        "context",
        "ended",
        "error",
        "examined_bytes",
        "examined_count",
        "is_bulky",
        "operation",
        "parameters",
        "peer",
        "raw_request_id",
        "reason",
        "requested_table",
        "resources",
        "returned_bytes",
        "returned_count",
        "service",
        "started",
        "status",
        "throttles",
        "trace",
    )

    context: Context
    ended: float
    operation: str
    parameters: Request
    service: str
    status: int

    def __init__(self, raw_request_id: bytes, peer: Peer, trace: bytes, agent: bytes = b"") -> None:
        self.started = perf_counter()
        self.is_bulky = False
        self.raw_request_id = raw_request_id
        self.peer = peer
        self.trace = trace
        self.agent = agent
        self.caller = NOBODY
        self.resources: list[str] = []
        self.consumed: list[Consumed] = []
        self.examined_count = 0
        self.examined_bytes = 0
        self.returned_count = 0
        self.returned_bytes = 0
        self.error = ""
        self.reason = ""
        self.requested_table: object = None
        # Few requests have any, so the empty tuple is shared.
        self.throttles: tuple[Throttle, ...] = ()
        self.conflicts: tuple[str, ...] = ()
        self.at: float | None = None
        self.between: tuple[float, float] | None = None

    @property
    def account(self) -> str:
        """The account of the caller."""
        return self.caller.account

    @property
    def region(self) -> str:
        return self.caller.region

    @property
    def access_key(self) -> str:
        return self.caller.access_key

    @property
    def principal_arn(self) -> str:
        return self.caller.arn

    @property
    def author(self) -> bytes:
        """The principal that histories name; empty on a server that verifies no signatures."""
        return b"" if self.caller.grants is None else self.caller.arn.encode()

    @property
    def request_id(self) -> str:
        return self.raw_request_id.decode()

    @property
    def source_address(self) -> str:
        """The IP address of the client; empty inside one process."""
        return self.peer.address

    @property
    def user_agent(self) -> str:
        """The client's program, as it says."""
        return self.agent[:_AGENT_BYTES_MAX].decode("latin-1")

    @property
    def is_secure(self) -> bool:
        """Whether the connection uses TLS."""
        return self.peer.is_secure

    @property
    def grants(self) -> Grants | None:
        """The caller's policies; None on a server that has none."""
        return self.caller.grants

    @property
    def clock(self) -> Clock:
        return self.context.clock

    @property
    def engine(self) -> Engine:
        return self.context.engine

    @property
    def duration_seconds(self) -> float:
        """How long the request took, from its complete arrival to its encoded answer."""
        return self.ended - self.started

    def known_table(self, name: str) -> Table | None:
        """Return an active table if it was used since the catalog last changed."""
        context = self.context
        table = context.catalog.known_table(context.account, context.region, name)
        if table is not None:
            # Only operations on a single table come here.
            self.resources.append(table.arn)
        return table

    async def table(self, name: str) -> Table:
        """Return an active table by its name or ARN; `known_table` is the quick way."""
        table = await self.context.table(name)
        self.touch(table.arn)
        return table

    def touch(self, arn: str) -> None:
        """Note a resource of this request."""
        if arn not in self.resources:
            self.resources.append(arn)

    def touch_table(self, name: str) -> None:
        """Note a table of the caller's account and region by its name."""
        self.touch(f"arn:aws:dynamodb:{self.region}:{self.account}:table/{name}")

    def note_read(self, table: str, units: float, index: str | None = None) -> None:
        """Note read units consumed from a table or one of its indexes."""
        self.consumed.append((table, index, units, 0.0))

    def note_write(self, table: str, units: float, index: str | None = None) -> None:
        """Note write units consumed from a table or one of its indexes."""
        self.consumed.append((table, index, 0.0, units))

    def note_throttle(self, table: str, reason: str, index: str | None = None) -> None:
        """Note an event that was throttled; the reason as in AWS's ThrottlingReasons."""
        self.throttles = (*self.throttles, (table, index, reason))

    def note_conflict(self, table: str) -> None:
        """Note an item of a table that another transaction had locked."""
        self.conflicts = (*self.conflicts, table)

    def note_rows(
        self, examined_count: int, examined_bytes: int, returned_count: int, returned_bytes: int
    ) -> None:
        """Add to the counts and sizes of the rows examined and returned."""
        self.examined_count += examined_count
        self.examined_bytes += examined_bytes
        self.returned_count += returned_count
        self.returned_bytes += returned_bytes

    def forget_attempt(self) -> None:
        """Drop what a handler noted before its attempt was given up."""
        self.resources.clear()
        self.consumed.clear()
        self.examined_count = self.examined_bytes = 0
        self.returned_count = self.returned_bytes = 0
        self.throttles = ()
        self.conflicts = ()
