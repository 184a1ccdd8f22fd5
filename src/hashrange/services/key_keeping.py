"""Looks after KMS keys: deletes those whose time has come, and rotates those that are due.

With its row the material of a deleted key is gone, and with it everything it was used for. Requests
take a key for deleted from that moment on, whether or not this service has come by.
"""

from __future__ import annotations

from typing import final

from hashrange.clock import Clock
from hashrange.keyring.ciphertexts import make_material
from hashrange.keyring.records import Grave, Key
from hashrange.keyring.store import KeyStore, Records, alias_row, grave_row, key_row


@final
class KeyKeeping:
    """The service; one per process."""

    def __init__(self, store: KeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def step(self) -> bool:
        """Do what is due; return whether anything was."""
        now = self._clock.now()
        done = False
        for key in await self._store.keys():
            if key.is_gone(now):
                await self._delete(key, now)
                done = True
            elif key.state == "Enabled" and 0 < key.next_rotation() <= now:
                await self._rotate(key, now)
                done = True
        return done

    async def _delete(self, key: Key, now: float) -> None:
        place = (key.account, key.region)
        row, grave = key_row(place, key.id), grave_row(place, key.id)
        names = [alias.name for alias in await self._store.aliases(place) if alias.key_id == key.id]
        aliases = [alias_row(place, name) for name in names]

        def delete(records: Records) -> Records:
            found = records[row]
            if not isinstance(found, Key) or not found.is_gone(now):
                return {}
            return {**dict.fromkeys([row, *aliases]), grave: Grave(found.closed_at)}

        await self._store.change([row, *aliases], delete)

    async def _rotate(self, key: Key, now: float) -> None:
        row = key_row((key.account, key.region), key.id)
        made = make_material(self._store.vault, key.id, now)

        def rotate(records: Records) -> Records:
            found = records[row]
            if not isinstance(found, Key) or not 0 < found.next_rotation() <= now:
                return {}
            found.materials.append(made)
            return {row: found}

        await self._store.change([row], rotate)
