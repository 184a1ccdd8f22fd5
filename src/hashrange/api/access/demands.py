"""Demands: the permissions a request needs, each an action on a resource with condition keys.

A row of the authorisation table turns a request into demands. Condition keys are computed only when
a policy asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, final

from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.model.schema import Table
from hashrange.storage.catalog import split_table_arn

_ARN: Final = re.compile(r"arn:aws[a-z-]*:dynamodb:([^:/]+):([^:/]+):table/([^/]+)(.*)", re.DOTALL)
_STREAM: Final = "/stream/"

ANY: Final = "*"
"""The resource of actions that have none."""


class RequestKeys:
    """The condition keys that depend on what a request asks for; the base has none."""

    __slots__ = ()

    def find(self, key: str, table: Table | None) -> str | list[str] | None:
        """Return the value of a key in lower case, None if the request does not have it."""
        return None


NO_KEYS: Final = RequestKeys()


@final
class PlainKeys(RequestKeys):
    """Condition keys whose values are known at once."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, str | list[str]]) -> None:
        self._values = values

    def find(self, key: str, table: Table | None) -> str | list[str] | None:
        return self._values.get(key)


@final
class Place:
    """Where a table is: account, region and name."""

    __slots__ = ("account", "name", "region")

    def __init__(self, account: str, region: str, name: str) -> None:
        self.account = account
        self.region = region
        self.name = name

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"


@final
class Demand:
    """A permission that a request needs.

    `place` is the table whose policy and tags count, None if there is none; `stream` is the label
    of the table's stream if the resource is one, whose own policy counts then.
    """

    __slots__ = ("action", "keys", "place", "resource", "stream")

    def __init__(
        self,
        action: str,
        resource: str,
        place: Place | None = None,
        keys: RequestKeys = NO_KEYS,
        stream: str = "",
    ) -> None:
        self.action = action
        self.resource = resource
        self.place = place
        self.keys = keys
        self.stream = stream


Row = Callable[[RequestScope, Request], list[Demand]]
"""A row of the authorisation table."""


def place_of(scope: RequestScope, name: str) -> Place:
    """Return the place of a table that a request names by its name or ARN."""
    parts = split_table_arn(name)
    if parts is not None:
        return Place(*parts)
    caller = scope.caller
    return Place(caller.account, caller.region, name)


def table_demand(
    scope: RequestScope, action: str, name: str, keys: RequestKeys = NO_KEYS, index: str = ""
) -> Demand:
    """Return the demand for an action on a table, or on one of its indexes."""
    place = place_of(scope, name)
    resource = f"{place.arn}/index/{index}" if index else place.arn
    return Demand(action, resource, place, keys)


def arn_demand(scope: RequestScope, action: str, arn: str, keys: RequestKeys = NO_KEYS) -> Demand:
    """Return the demand for an action on a table, a stream or an index, given by ARN.

    The partition in an ARN is not looked at by those who carry out requests, so it is not here.
    """
    match = _ARN.fullmatch(arn)
    if match is None:
        return Demand(action, arn or ANY, None, keys)
    region, account, name, rest = match.groups()
    place = Place(account, region, name)
    label = rest[len(_STREAM) :] if rest.startswith(_STREAM) else ""
    return Demand(action, place.arn + rest, place, keys, label)
