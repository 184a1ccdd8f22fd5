"""Connects to Cassandra, with profiles that say how each kind of statement is carried out.

The driver never repeats a conditional statement (a hidden repetition would break linearisability).
Conditional statements of one partition go to the same coordinator while it is up, which keeps
ballots from competing. Reads ask a second replica when the first one is slow.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cassandra import (
    ConsistencyLevel,
    DriverException,
    OperationTimedOut,
    RequestExecutionException,
)
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import tuple_factory

from hashrange.errors import EngineError

QUORUM: Final = "quorum"
ONE: Final = "one"
SERIAL: Final = "serial"
CONDITIONAL: Final = "conditional"

DRIVER_FAILURES: Final = (
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    RequestExecutionException,
)
"""What the driver raises when a statement cannot be carried out."""

_CONNECT_SECONDS: Final = 10.0
_TLS_HINT: Final = ". If the nodes want TLS, give --cassandra-ca."
_SPECULATIVE_SECONDS: Final = 0.5
_RECONNECT_SECONDS: Final = 1.0
_HEARTBEAT_SECONDS: Final = 3
_HEARTBEAT_ANSWER_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Access:
    """Where Cassandra is, and how to be let in."""

    contact_points: tuple[str, ...] = ("127.0.0.1",)
    port: int = 9042
    datacenter: str = ""
    user: str = ""
    password: str = ""
    # A file with the certificates of those who may sign the nodes' certificates; turns on TLS.
    certificate_authority: Path | None = None


def connect(access: Access) -> Session:
    """Return a session on no keyspace yet."""
    # The driver tells of every host, with tracebacks; what matters reaches users as errors.
    logging.getLogger("cassandra").setLevel(logging.CRITICAL)
    cluster = Cluster(
        list(access.contact_points),
        port=access.port,
        protocol_version=5,
        execution_profiles=_profiles(access.datacenter),
        auth_provider=(
            PlainTextAuthProvider(access.user, access.password) if access.user else None
        ),
        ssl_context=_tls(access.certificate_authority),
        reconnection_policy=ConstantReconnectionPolicy(_RECONNECT_SECONDS, max_attempts=None),
        idle_heartbeat_interval=_HEARTBEAT_SECONDS,
        idle_heartbeat_timeout=_HEARTBEAT_ANSWER_SECONDS,
        connect_timeout=_CONNECT_SECONDS,
        control_connection_timeout=_CONNECT_SECONDS,
        schema_event_refresh_window=-1,
    )
    try:
        session = cluster.connect()
    except NoHostAvailable as error:
        cluster.shutdown()
        reasons = "; ".join(f"{host}: {reason}" for host, reason in error.errors.items())
        hint = "" if access.certificate_authority else _TLS_HINT
        if not any(isinstance(each, ConnectionResetError) for each in error.errors.values()):
            hint = ""
        raise EngineError(f"Cannot connect to Cassandra: {reasons or error}{hint}") from error
    except Exception as error:
        cluster.shutdown()
        raise EngineError(f"Cannot connect to Cassandra: {error}") from error
    session.default_fetch_size = None
    return session


def _profiles(datacenter: str) -> dict[object, ExecutionProfile]:
    def profile(level: int, seconds: float, *, speculative: bool) -> ExecutionProfile:
        more: dict[str, Any] = {}
        if speculative:
            more["speculative_execution_policy"] = ConstantSpeculativeExecutionPolicy(
                _SPECULATIVE_SECONDS, 1
            )
        return ExecutionProfile(
            load_balancing_policy=TokenAwarePolicy(
                DCAwareRoundRobinPolicy(datacenter), shuffle_replicas=level == one
            ),
            retry_policy=FallthroughRetryPolicy(),
            consistency_level=level,
            serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
            request_timeout=seconds,
            row_factory=tuple_factory,
            **more,
        )

    one = ConsistencyLevel.LOCAL_ONE
    quorum = ConsistencyLevel.LOCAL_QUORUM
    return {
        EXEC_PROFILE_DEFAULT: profile(quorum, 60.0, speculative=False),
        ONE: profile(one, 3.0, speculative=True),
        QUORUM: profile(quorum, 3.0, speculative=True),
        SERIAL: profile(ConsistencyLevel.LOCAL_SERIAL, 4.0, speculative=False),
        CONDITIONAL: profile(quorum, 4.0, speculative=False),
    }


def _tls(certificate_authority: Path | None) -> Any:
    if certificate_authority is None:
        return None
    import ssl

    # Nodes are reached by address and rarely have it in their certificates.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(certificate_authority)
    return context
