"""The operations of STS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.neighbours.service import Handler, Parameters, Result, Scope


async def get_caller_identity(scope: Scope, parameters: Parameters) -> Result:
    """Return the principal that signed the request.

    A principal without a unique id of its own is shown by its access key; the root user of an
    account by the account, as on AWS.
    """
    is_root = scope.principal_arn.endswith(":root")
    return {
        "UserId": scope.account if is_root else scope.access_key,
        "Account": scope.account,
        "Arn": scope.principal_arn,
    }


OPERATIONS: Final[Mapping[str, Handler]] = {"GetCallerIdentity": get_caller_identity}
