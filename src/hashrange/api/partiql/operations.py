"""The operations that carry out PartiQL statements."""

from __future__ import annotations

from typing import Final

from hashrange.api.operation import Operation
from hashrange.api.partiql import requests as statement_requests
from hashrange.api.partiql.statements import batch_execute_statement, execute_statement
from hashrange.api.partiql.transactions import execute_transaction

OPERATIONS: Final = (
    Operation(
        "BatchExecuteStatement",
        statement_requests.BATCH_EXECUTE_STATEMENT,
        batch_execute_statement,
    ),
    Operation("ExecuteStatement", statement_requests.EXECUTE_STATEMENT, execute_statement),
    Operation("ExecuteTransaction", statement_requests.EXECUTE_TRANSACTION, execute_transaction),
)
