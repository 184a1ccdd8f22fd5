"""The catalog's list of sealed spaces: which tables are encrypted with a KMS key, and how.

sealing row := "z" account 0 region 0 table 0 store     see TableRecord.sealed_spaces
"""

from __future__ import annotations

from hashrange.engine.base import Changes
from hashrange.model.records import TableRecord
from hashrange.storage.sealed_engine import CATALOG, LISTED


def sealed_key(record: TableRecord) -> bytes:
    """Return where it is listed how a table is sealed."""
    place = (record.account, record.region, record.name, record.store)
    return LISTED + "\x00".join(place).encode()


def list_sealed(before: bytes | None, record: TableRecord | None, changes: Changes) -> None:
    """Bring the list up to date with a record that is written.

    What was listed of a table that is gone stays as long as its record, which a stream of it needs.
    """
    if record is None:
        return
    after = record.sealed_spaces()
    if after == before:
        return
    key = (CATALOG, 0, sealed_key(record))
    if after is None:
        changes.deletes.append(key)
    else:
        changes.puts.append((*key, after))
