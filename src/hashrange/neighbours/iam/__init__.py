"""AWS Identity and Access Management: users, groups, roles, access keys and policies."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.identities.store import IdentityStore
from hashrange.neighbours.service import Handler, Service


def iam_service(identities: IdentityStore) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.iam.operations import make_operations

        return make_operations(identities)

    return Service("iam", handlers, api_version="2010-05-08")
