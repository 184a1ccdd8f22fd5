"""The condition keys of one demand: of the principal, of the request, and of the connection."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import final

from hashrange.api.access.demands import Demand
from hashrange.api.scope import RequestScope
from hashrange.model.schema import Table
from hashrange.policies.principals import Principal


@final
class DemandContext:
    """Finds condition keys when a policy asks for them."""

    __slots__ = ("_demand", "_principal", "_scope", "_table")

    def __init__(
        self, scope: RequestScope, principal: Principal, demand: Demand, table: Table | None
    ) -> None:
        self._scope = scope
        self._principal = principal
        self._demand = demand
        self._table = table

    def find(self, key: str) -> str | list[str] | None:
        """Return the value of a key in lower case, None if the request does not have it."""
        value = self._principal.keys.get(key)
        if value is not None:
            return value
        found = self._demand.keys.find(key, self._table)
        if found is not None:
            return found
        return self._global(key) if key.startswith("aws:") else None

    def _global(self, key: str) -> str | None:
        scope = self._scope
        if key == "aws:sourceip":
            return scope.peer.address or None
        if key == "aws:securetransport":
            return "true" if scope.peer.is_secure else "false"
        if key == "aws:currenttime":
            return datetime.fromtimestamp(scope.clock.now(), UTC).isoformat()
        if key == "aws:epochtime":
            return str(int(scope.clock.now()))
        if key == "aws:requestedregion":
            return scope.caller.region
        if key == "aws:viaawsservice":
            return "false"
        if key == "aws:resourceaccount" and self._demand.place is not None:
            return self._demand.place.account
        if key.startswith("aws:resourcetag/") and self._table is not None:
            return self._table.tags.get(key[len("aws:resourcetag/") :])
        return None
