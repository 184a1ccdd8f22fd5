"""PutFaults, GetFaults and DeleteFaults: the rules of fault injection, on the path of operators.

These calls are not part of AWS's API. They are there only on a server that was started for it.
"""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.shapes.scalars import Number, String
from hashrange.api.shapes.structures import ListOf, Structure
from hashrange.errors import AccessDeniedException, InvalidParameterValueException
from hashrange.injection.rules import KINDS, RULES_MAX, SECONDS_MAX, FaultRule
from hashrange.injection.store import FaultStore

_RULE: Final = Structure(
    "FaultRule",
    {
        "Kind": String(enum=KINDS),
        "Operation": String(minimum=1, maximum=100),
        "Table": String(minimum=1, maximum=255),
        "Rate": Number("Double"),
        "Seconds": Number("Double"),
        "Times": Number("Integer", minimum=1),
    },
    required=("Kind",),
)
PUT: Final = Structure(
    "PutFaultsRequest",
    {"Rules": ListOf(_RULE), "Seed": Number("Integer", minimum=0)},
    required=("Rules",),
)
NONE: Final = Structure("FaultsRequest", {})


def make_rule(members: dict[str, Any]) -> FaultRule:
    """Return the rule that some members describe, checked."""
    rule = FaultRule(
        members["Kind"],
        members.get("Operation"),
        members.get("Table"),
        float(members.get("Rate", 1.0)),
        float(members.get("Seconds", 1.0)),
        members.get("Times"),
    )
    if rule.kind not in KINDS:
        raise InvalidParameterValueException(f"The kind of a fault is one of {', '.join(KINDS)}.")
    if not 0.0 <= rule.rate <= 1.0:
        raise InvalidParameterValueException("The rate of a fault is from 0 to 1.")
    if not 0.0 < rule.seconds <= SECONDS_MAX:
        raise InvalidParameterValueException(
            f"The seconds of a fault are more than 0 and at most {SECONDS_MAX:.0f}."
        )
    return rule


@final
class FaultCalls:
    """The calls; `store` is None on a server without fault injection."""

    def __init__(self, store: FaultStore | None) -> None:
        self._store = store

    async def put(self, scope: RequestScope, request: Request) -> Response:
        """Replace all rules."""
        store = self._check_allowed()
        if len(request["Rules"]) > RULES_MAX:
            raise InvalidParameterValueException(f"There are at most {RULES_MAX} rules.")
        rules = [make_rule(rule) for rule in request["Rules"]]
        await store.replace(rules, request.get("Seed", 0))
        return await self.get(scope, request)

    async def get(self, scope: RequestScope, request: Request) -> Response:
        """Describe the rules in force."""
        plan = await self._check_allowed().plan()
        return {"Seed": plan.seed, "Rules": [_describe(rule) for rule in plan.rules]}

    async def delete(self, scope: RequestScope, request: Request) -> Response:
        """Take all rules away."""
        await self._check_allowed().replace((), 0)
        return {}

    def _check_allowed(self) -> FaultStore:
        if self._store is None:
            raise AccessDeniedException(
                "This server injects no faults. Start it with --faults to let requests fail."
            )
        return self._store


def _describe(rule: FaultRule) -> dict[str, Any]:
    members = {
        "Kind": rule.kind,
        "Operation": rule.operation,
        "Table": rule.table,
        "Rate": rule.rate,
        "Seconds": rule.seconds,
        "Times": rule.times,
    }
    return {member: value for member, value in members.items() if value is not None}
