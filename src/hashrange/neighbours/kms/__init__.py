"""AWS Key Management Service: symmetric keys, what they encrypt, and who may use them."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.keyring.store import KeyStore
from hashrange.neighbours.service import Handler, Service


def kms_service(keys: KeyStore) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.kms.operations import make_operations

        return make_operations(keys)

    return Service("kms", handlers, api_version="2014-11-01", target_prefix="TrentService")
