"""Which faults happen to a cluster, and when: drawn from a seed, so that a run can be repeated.

Kinds come in shuffled rounds: each happens once before one happens again, so that a short run has
all of them. A fault lasts for `seconds` and is then undone; faults never overlap. Pure.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

NODES: Final = 3
SERVERS: Final = 2
_CALM_SECONDS: Final = (1.0, 4.0)
_DOWN_SECONDS: Final = (0.5, 6.0)
# Client tokens are remembered for ten minutes, and clocks must not outrun that.
_JUMP_SECONDS_MAX: Final = 120


@dataclass(frozen=True, slots=True)
class Event:
    """One fault: what happens, to which node or server, for how long, after how long a calm."""

    kind: str
    calm: float
    seconds: float
    node: int = 0
    other: int = 0
    jump: int = 0

    def __str__(self) -> str:
        parts = [f"after {self.calm:.1f} s: {self.kind} {self.node or ''}".rstrip()]
        if self.other:
            parts.append(f"to {self.other}")
        if self.jump:
            parts.append(f"by {self.jump:+d} s")
        return " ".join([*parts, f"for {self.seconds:.1f} s"])


def _node_down(rng: random.Random, longest: float) -> dict[str, float]:
    return {"node": rng.randint(1, NODES), "seconds": rng.uniform(*_DOWN_SECONDS)}


def _node_lasting(rng: random.Random, longest: float) -> dict[str, float]:
    # Most are short, some as long as they may be.
    return {"node": rng.randint(1, NODES), "seconds": 1 + (longest - 1) * rng.random() ** 2}


def _route(rng: random.Random, longest: float) -> dict[str, float]:
    node, other = rng.sample(range(1, NODES + 1), 2)
    return _node_lasting(rng, longest) | {"node": node, "other": other}


def _everything(rng: random.Random, longest: float) -> dict[str, float]:
    return {"seconds": rng.uniform(*_DOWN_SECONDS)}


def _server_down(rng: random.Random, longest: float) -> dict[str, float]:
    return {"node": rng.randint(1, SERVERS), "seconds": rng.uniform(*_DOWN_SECONDS)}


def _server_lasting(rng: random.Random, longest: float) -> dict[str, float]:
    return _node_lasting(rng, longest) | {"node": rng.randint(1, SERVERS)}


def _jump(rng: random.Random) -> int:
    return rng.choice((-1, 1)) * rng.randint(2, _JUMP_SECONDS_MAX)


def _node_clock(rng: random.Random, longest: float) -> dict[str, float]:
    return _node_lasting(rng, longest) | {"jump": _jump(rng)}


def _server_clock(rng: random.Random, longest: float) -> dict[str, float]:
    return _server_lasting(rng, longest) | {"jump": _jump(rng)}


Drawing = Callable[[random.Random, float], dict[str, float]]

KINDS: Final[dict[str, Drawing]] = {
    "kill-node": _node_down,
    "pause-node": _node_lasting,
    "kill-all-nodes": _everything,
    "kill-server": _server_down,
    "pause-server": _server_lasting,
    # These need network namespaces.
    "cut-node": _node_lasting,
    "lose-answers": _node_lasting,
    "lose-requests": _node_lasting,
    "cut-route": _route,
    # These need a C compiler.
    "jump-node-clock": _node_clock,
    "jump-server-clock": _server_clock,
}
"""How the parameters of each kind of fault are drawn; see `faults` for what they do."""

NEED_LINKS: Final = frozenset({"cut-node", "lose-answers", "lose-requests", "cut-route"})
NEED_CLOCKS: Final = frozenset({"jump-node-clock", "jump-server-clock"})


def draw(seed: int, kinds: Sequence[str], longest: float) -> Iterator[Event]:
    """Return the faults of a seed, without end; none lasts longer than `longest` seconds."""
    rng = random.Random(f"{seed}/schedule")
    while True:
        order = sorted(kinds)
        rng.shuffle(order)
        for kind in order:
            calm = rng.uniform(*_CALM_SECONDS)
            yield Event(kind, calm, **KINDS[kind](rng, longest))  # type: ignore[arg-type]
