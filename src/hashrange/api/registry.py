"""The table of all operations: the index of the whole server."""

from __future__ import annotations

from typing import Final

from hashrange.api import requests
from hashrange.api.batches import batch_get_item, batch_write_item
from hashrange.api.delete_item import delete_item
from hashrange.api.get_item import get_item
from hashrange.api.operation import Operation
from hashrange.api.put_item import put_item
from hashrange.api.query import query
from hashrange.api.scan import scan
from hashrange.api.transactions import transact_get_items, transact_write_items
from hashrange.api.update_item import update_item

_ALL: Final = (
    Operation("BatchGetItem", requests.BATCH_GET_ITEM, batch_get_item),
    Operation("BatchWriteItem", requests.BATCH_WRITE_ITEM, batch_write_item),
    Operation("DeleteItem", requests.DELETE_ITEM, delete_item),
    Operation("GetItem", requests.GET_ITEM, get_item),
    Operation("PutItem", requests.PUT_ITEM, put_item),
    Operation("Query", requests.QUERY, query),
    Operation("Scan", requests.SCAN, scan),
    Operation("TransactGetItems", requests.TRANSACT_GET_ITEMS, transact_get_items),
    Operation("TransactWriteItems", requests.TRANSACT_WRITE_ITEMS, transact_write_items),
    Operation("UpdateItem", requests.UPDATE_ITEM, update_item),
)

OPERATIONS: Final[dict[str, Operation]] = {operation.name: operation for operation in _ALL}
