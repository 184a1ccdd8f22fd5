"""AWS Security Token Service: who is calling, and temporary credentials."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.identities.store import IdentityStore
from hashrange.neighbours.service import Handler, Service


def sts_service(identities: IdentityStore) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.sts.operations import Tokens

        return Tokens(identities).operations()

    return Service("sts", handlers, api_version="2011-06-15")
