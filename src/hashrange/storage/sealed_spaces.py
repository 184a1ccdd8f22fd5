"""The catalog's list of sealed spaces: which tables are encrypted with a KMS key, and how.

sealing row := "z" account 0 region 0 table 0 store     see TableRecord.sealed_spaces
"""

from __future__ import annotations

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, space_of
from hashrange.model.records import TableRecord
from hashrange.model.streams import StreamRecord
from hashrange.storage.sealed_engine import CATALOG, LISTED


def sealed_key(account: str, region: str, table: str, space: str) -> bytes:
    """Return where it is listed how a table is sealed, whose space tells it from its successors."""
    return LISTED + "\x00".join((account, region, table, space)).encode()


async def find_stream_key(engine: Engine, stream: StreamRecord) -> str | None:
    """Return the ARN of the KMS key of the table that a stream is of, which may be gone."""
    key = sealed_key(stream.account, stream.region, stream.table, space_of(stream.store))
    (row,) = await engine.read([(CATALOG, 0, key)], STRONG)
    listed = None if row is None else orjson.loads(row)
    if listed is None or not listed["is_sealing"]:
        return None
    return str(listed["keys"][0]["key_arn"])


def list_sealed(before: bytes | None, record: TableRecord | None, changes: Changes) -> None:
    """Bring the list up to date with a record that is written.

    What was listed of a table that is gone stays as long as its record, which a stream of it needs.
    """
    if record is None:
        return
    after = record.sealed_spaces()
    if after == before:
        return
    key = (CATALOG, 0, sealed_key(record.account, record.region, record.name, record.store))
    if after is None:
        changes.deletes.append(key)
    else:
        changes.puts.append((*key, after))
