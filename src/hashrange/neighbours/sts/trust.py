"""The condition keys of AssumeRole, for trust policies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import final

from hashrange.neighbours.service import Parameters, Scope, ServiceError
from hashrange.policies.principals import Principal


@final
class TrustContext:
    """Finds condition keys when a policy asks for them."""

    def __init__(self, scope: Scope, principal: Principal, parameters: Parameters) -> None:
        self._principal = principal
        self._values: dict[str, str | list[str]] = {
            "sts:rolesessionname": parameters["RoleSessionName"],
            "aws:securetransport": "true" if scope.is_secure else "false",
            "aws:currenttime": datetime.fromtimestamp(scope.clock.now(), UTC).isoformat(),
            "aws:epochtime": str(int(scope.clock.now())),
            "aws:requestedregion": scope.region,
        }
        if scope.source_address:
            self._values["aws:sourceip"] = scope.source_address
        if parameters.get("ExternalId"):
            self._values["sts:externalid"] = parameters["ExternalId"]
        tags = session_tags(parameters)
        if tags:
            self._values["aws:tagkeys"] = list(tags)
        for name, value in tags.items():
            self._values[f"aws:requesttag/{name.lower()}"] = value

    def find(self, key: str) -> str | list[str] | None:
        return self._principal.keys.get(key) or self._values.get(key)


def session_tags(parameters: Parameters) -> dict[str, str]:
    """Return the session tags of a request."""
    tags = {tag["Key"]: tag["Value"] for tag in parameters.get("Tags") or ()}
    if len({name.lower() for name in tags}) < len(parameters.get("Tags") or ()):
        raise ServiceError(
            "ValidationError",
            "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
        )
    return tags
