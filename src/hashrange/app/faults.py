"""Wires fault injection: the engine that remembers, the rules, and the stage that obeys them."""

from __future__ import annotations

import asyncio
from typing import final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.injection.stale_reads import Memory, RememberingEngine
from hashrange.injection.store import FaultStore
from hashrange.wire.fault_admission import FaultAdmission, Sleep
from hashrange.wire.stages import Stages


@final
class FaultInjection:
    """Fault injection on an engine; `engine` is the one to use from then on."""

    def __init__(self, engine: Engine, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self.engine = RememberingEngine(engine, Memory(clock))
        self.store = FaultStore(engine)
        self._admission = FaultAdmission(self.store, self.engine, sleep)

    def admitting(self, stages: Stages) -> Stages:
        """Return stages in which requests meet faults."""
        return stages.with_admission(self._admission)
