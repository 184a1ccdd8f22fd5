"""Compresses attributes with zlib, if that makes them smaller.

Format of the stored binary: `HRz1`, one byte for the type (S, B, L or M), the compressed text.
Lists and maps are compressed as the JSON of their API form.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Final, final

from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.codecs.payloads import from_payload, to_payload
from hashrange.toolkit.values import Item

_MAGIC: Final = b"HRz1"


@final
class Compression:
    """Compresses the named attributes from a size on."""

    def __init__(
        self, attributes: Collection[str], *, minimum_bytes: int = 1024, level: int = 6
    ) -> None:
        self._attributes = frozenset(attributes)
        self._minimum_bytes = minimum_bytes
        self._level = level

    def encode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item with its large attributes compressed."""
        yield from ()
        encoded = dict(item)
        for name in self._attributes & item.keys():
            payload = to_payload(item[name])
            if payload is None or len(payload) < self._minimum_bytes:
                continue
            compressed = _MAGIC + payload[:1] + zlib.compress(payload[1:], self._level)
            if len(compressed) < len(payload):
                encoded[name] = {"B": compressed}
        return encoded

    def decode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item with its attributes as they were."""
        yield from ()
        decoded = dict(item)
        for name in self._attributes & item.keys():
            content = item[name].get("B")
            if content is not None and bytes(content).startswith(_MAGIC):
                stored = bytes(content)[len(_MAGIC) :]
                decoded[name] = from_payload(stored[:1] + zlib.decompress(stored[1:]))
        return decoded
