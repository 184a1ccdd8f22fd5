"""Plans: operations as generators that do no I/O themselves.

A plan yields a `Call`, a `Pause`, an `Invoke` or `Together`. The driver carries it out and sends
back what came of it, or throws the exception into the plan, interruptions and cancellations
included. What the plan returns is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

Result = TypeVar("Result")


@final
@dataclass(frozen=True, slots=True)
class Call:
    """One API call: boto3's method name and its parameters.

    `repeatable` says that doing it twice has the effect of doing it once, so that it may be sent
    again when nobody knows whether the first one arrived.
    """

    method: str
    parameters: dict[str, Any]
    repeatable: bool = True
    service: str = "dynamodb"


@final
@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for some seconds."""

    seconds: float


@final
@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a function of the application; an asynchronous driver awaits an awaitable result."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Together:
    """Run plans at the same time, at most `width` of them; answered with the list of results."""

    plans: Sequence[Plan[Any]]
    width: int = 8


Request = Call | Pause | Invoke | Together
Plan = Generator[Request, Any, Result]


def constant(result: Result) -> Plan[Result]:
    """A plan that asks for nothing and returns a result that is known already."""
    yield from ()
    return result
