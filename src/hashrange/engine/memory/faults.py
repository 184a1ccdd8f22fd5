"""Seeded faults of the cluster engine: their kinds, rates and order.

All choices come from one generator, so that a seed and a schedule of calls give the same faults
again. Rates are probabilities per occasion.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

DELAY_TURNS_MAX: Final = 3
"""How many turns of the event loop a delayed call lets pass at most."""

STALE_STEPS_MAX: Final = 8
"""How many steps of its shard a stale read may be behind at most."""


class Answer(enum.Enum):
    """The outcome of one attempt to change a shard."""

    APPLIED = "applied, and the answer arrives"
    CONFLICT = "refused, as if another write had come first"
    LOST_REQUEST = "not applied, and no answer arrives"
    LOST_ANSWER = "applied, but no answer arrives"
    PENDING = "no answer arrives, and the next operation on the shard may still apply it"


@dataclass(frozen=True, slots=True)
class Rates:
    """How often each fault happens."""

    # An attempt is refused although there is no conflict.
    conflict: float = 0.05
    # An attempt gets no answer; whether it was applied is drawn evenly.
    no_answer: float = 0.05
    # Of those without an answer, the engine cannot find out what happened either.
    unsettled: float = 0.0
    # A call lets other tasks run before it reaches a shard, and between reading and writing.
    delay: float = 0.2
    # `decide` is called twice on the same rows, to see that it is pure.
    repeat: float = 0.1
    # An eventual read sees an older state of a shard.
    stale: float = 0.3
    # A lease is given to a second holder while the first one believes that it has it.
    lost_lease: float = 0.1
    # The change counter still shows an older value when it is asked.
    late_counter: float = 0.0


NO_FAULTS: Final = Rates(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def any_store(store: str) -> bool:
    """Let eventual reads of every store be stale."""
    return True


@final
class FaultPlan:
    """The faults of one engine, drawn from a seed."""

    def __init__(
        self,
        seed: int = 0,
        rates: Rates | None = None,
        *,
        is_stale_store: Callable[[str], bool] = any_store,
    ) -> None:
        self._random = random.Random(seed)
        self._rates = rates or Rates()
        self._is_stale_store = is_stale_store

    def calm(self) -> None:
        """Inject no more faults."""
        self._rates = NO_FAULTS

    def answer(self) -> Answer:
        """Return the outcome of an attempt to write."""
        draw = self._random.random()
        if draw < self._rates.conflict:
            return Answer.CONFLICT
        if draw < self._rates.conflict + self._rates.no_answer:
            return self._random.choice((Answer.LOST_REQUEST, Answer.LOST_ANSWER, Answer.PENDING))
        return Answer.APPLIED

    def is_unsettled(self) -> bool:
        """Tell whether a missing answer stays missing."""
        return self._is(self._rates.unsettled)

    def is_pending_applied(self) -> bool:
        """Tell whether a write that was pending is applied after all."""
        return self._is(0.5)

    def delay_turns(self) -> int:
        """Return how many turns of the event loop to let pass."""
        return self._random.randint(1, DELAY_TURNS_MAX) if self._is(self._rates.delay) else 0

    def is_repeated(self) -> bool:
        """Tell whether `decide` is called a second time."""
        return self._is(self._rates.repeat)

    def stale_steps(self, store: str) -> int:
        """Return how many steps an eventual read of a store is behind."""
        if not self._is(self._rates.stale) or not self._is_stale_store(store):
            return 0
        return self._random.randint(1, STALE_STEPS_MAX)

    def is_lease_lost(self) -> bool:
        """Tell whether a lease that is held is given away."""
        return self._is(self._rates.lost_lease)

    def is_counter_late(self) -> bool:
        """Tell whether the change counter has not moved yet."""
        return self._is(self._rates.late_counter)

    def shuffled(self, count: int) -> list[int]:
        """Return an order in which to do so many independent things."""
        order = list(range(count))
        if self._is(self._rates.delay):
            self._random.shuffle(order)
        return order

    def _is(self, rate: float) -> bool:
        return rate > 0.0 and self._random.random() < rate
