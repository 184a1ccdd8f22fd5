"""Keeps large attributes in S3 and a reference in the item.

The reference is a map with one entry `$s3`: bucket, key, size and SHA-256 of the content. Objects
are called by their hash, so writing the same value twice makes one object, a write that fails
leaves at most an object nobody refers to, and readers notice a changed object. Objects are not
deleted with their items, as others may refer to them: use a lifecycle rule on the prefix, or an
inventory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any, Final, final

from hashrange.toolkit.client.plans import Call, Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.codecs.payloads import from_payload, to_payload
from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.values import Item, Wire

REFERENCE: Final = "$s3"


@final
class LargeValues:
    """Puts the named attributes into a bucket from a size on. The driver needs a client for s3."""

    def __init__(
        self,
        attributes: Collection[str],
        *,
        bucket: str,
        prefix: str = "dynamodb",
        minimum_bytes: int = 32 * 1024,
        policy: RetryPolicy = DEFAULT_POLICY,
    ) -> None:
        self._attributes = frozenset(attributes)
        self._bucket = bucket
        self._prefix = prefix
        self._minimum_bytes = minimum_bytes
        self._policy = policy

    def encode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item with references instead of its large attributes."""
        encoded = dict(item)
        for name in sorted(self._attributes & item.keys()):
            payload = to_payload(item[name])
            if payload is not None and len(payload) >= self._minimum_bytes:
                encoded[name] = yield from self._store(payload, table)
        return encoded

    def decode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item with the content of its references."""
        decoded = dict(item)
        for name in sorted(self._attributes & item.keys()):
            reference = item[name].get("M", {}).get(REFERENCE)
            if reference is not None:
                decoded[name] = yield from self._fetch(reference["M"], name)
        return decoded

    def _store(self, payload: bytes, table: str) -> Plan[Wire]:
        digest = hashlib.sha256(payload).hexdigest()
        key = f"{self._prefix}/{table}/{digest}"
        parameters = {"Bucket": self._bucket, "Key": key, "Body": payload}
        yield from attempt(Call("put_object", parameters, service="s3"), self._policy)
        reference = {
            "bucket": {"S": self._bucket},
            "key": {"S": key},
            "bytes": {"N": str(len(payload))},
            "sha256": {"S": digest},
        }
        return {"M": {REFERENCE: {"M": reference}}}

    def _fetch(self, reference: dict[str, Any], name: str) -> Plan[Wire]:
        parameters = {"Bucket": reference["bucket"]["S"], "Key": reference["key"]["S"]}
        answer = yield from attempt(Call("get_object", parameters, service="s3"), self._policy)
        payload = bytes(answer["Body"])
        if hashlib.sha256(payload).hexdigest() != reference["sha256"]["S"]:
            raise ConversionError(f"{name}: the object in S3 is not the one that was stored")
        return from_payload(payload)
