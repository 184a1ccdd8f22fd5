"""Gives the storage layer the ciphers of tables that are encrypted with a KMS key."""

from __future__ import annotations

from typing import final

from hashrange.keyring.table_keys import TableKeys
from hashrange.model.records import DataKey
from hashrange.storage.sealed_rows import RowCipher


@final
class TableLocksmith:
    """Opens data keys with the keys of KMS."""

    def __init__(self, keys: TableKeys) -> None:
        self._keys = keys

    async def open(self, data_key: DataKey, account: str, table: str) -> RowCipher:
        """Return the cipher of a table's data key, or raise what clients are told."""
        sealed = (data_key.marker, data_key.sealed, data_key.key_arn)
        cipher = await self._keys.open(sealed, account, table)
        return RowCipher(bytes.fromhex(data_key.marker), cipher)
