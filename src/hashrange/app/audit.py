"""Composes the audit trail that the settings ask for."""

from __future__ import annotations

from typing import Final, final

from hashrange.app.database import Database
from hashrange.audit.events import EventStore
from hashrange.audit.log_file import STANDARD_OUTPUT, LogFile
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.services.background import Service
from hashrange.wire.recorders.audit_trail import AuditTrail
from hashrange.wire.stages import Recorder

_RETENTION_IDLE_SECONDS: Final = 3600.0
_RETENTION_BUSY_SECONDS: Final = 0.01


@final
class Audit:
    """The audit trail of one process; records nothing if the settings say so."""

    def __init__(self, settings: Settings, engine: Engine, clock: Clock) -> None:
        self.events = EventStore(engine)
        self._clock = clock
        self.recorders: list[Recorder] = []
        self._trail: AuditTrail | None = None
        mode = settings.audit
        if mode == "auto":
            mode = "management" if settings.is_guarded else "off"
        if mode != "off":
            self._trail = AuditTrail(
                self.events, _log_of(settings), clock, has_data_events=mode == "all"
            )
            self.recorders.append(self._trail)

    def keep(self, database: Database) -> None:
        """Have old events deleted in the background."""
        if self._trail is not None:
            database.add_services(
                Service(
                    "dropping old events",
                    self._drop_old,
                    idle_seconds=_RETENTION_IDLE_SECONDS,
                    busy_seconds=_RETENTION_BUSY_SECONDS,
                )
            )

    async def _drop_old(self) -> int:
        return await self.events.drop_old(self._clock.now())

    async def stop(self) -> None:
        """Keep what is pending."""
        if self._trail is not None:
            await self._trail.close()


def _log_of(settings: Settings) -> LogFile | None:
    """Return the log file: beside the data, since the data directory may be encrypted."""
    path = settings.audit_file
    if path is not None:
        return LogFile(STANDARD_OUTPUT if path.name == STANDARD_OUTPUT else str(path))
    if settings.in_memory or settings.is_clustered:
        return None
    absolute = settings.data_dir.absolute()
    return LogFile(str(absolute.with_name(absolute.name + "-audit.log")))
