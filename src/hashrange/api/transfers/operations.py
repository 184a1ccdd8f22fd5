"""The operations of exports, imports and bulk puts."""

from __future__ import annotations

from typing import Final

from hashrange.api.operation import Operation
from hashrange.api.transfers import requests as transfer_requests
from hashrange.api.transfers.bulk_operations import (
    cancel_bulk_operation,
    describe_bulk_operation,
    list_bulk_operations,
    start_bulk_put,
)
from hashrange.api.transfers.exports import describe_export, export_table, list_exports
from hashrange.api.transfers.imports import describe_import, import_table, list_imports

OPERATIONS: Final = (
    Operation("CancelBulkOperation", transfer_requests.CANCEL_BULK, cancel_bulk_operation),
    Operation("DescribeBulkOperation", transfer_requests.DESCRIBE_BULK, describe_bulk_operation),
    Operation("DescribeExport", transfer_requests.DESCRIBE_EXPORT, describe_export),
    Operation("DescribeImport", transfer_requests.DESCRIBE_IMPORT, describe_import),
    Operation("ExportTableToPointInTime", transfer_requests.EXPORT_TABLE, export_table),
    Operation("ImportTable", transfer_requests.IMPORT_TABLE, import_table),
    Operation("ListBulkOperations", transfer_requests.LIST_BULK, list_bulk_operations),
    Operation("ListExports", transfer_requests.LIST_EXPORTS, list_exports),
    Operation("ListImports", transfer_requests.LIST_IMPORTS, list_imports),
    Operation("StartBulkPutItems", transfer_requests.START_BULK_PUT, start_bulk_put),
)
