"""Request shapes of the PartiQL operations; see `api/shapes/requests` for the others."""

from __future__ import annotations

from typing import Final

from hashrange.api.shapes.scalars import Boolean, Number, String
from hashrange.api.shapes.structures import AttributeValue, ListOf, Structure
from hashrange.limits import (
    BATCH_STATEMENTS_MAX,
    CLIENT_TOKEN_CHARACTERS_MAX,
    NEXT_TOKEN_CHARACTERS_MAX,
    STATEMENT_CHARACTERS_MAX,
    TRANSACTION_ACTIONS_MAX,
)

_STATEMENT: Final = String(minimum=1, maximum=STATEMENT_CHARACTERS_MAX)
_PARAMETERS: Final = ListOf(AttributeValue(), minimum=1)
_RETURN_CONSUMED_CAPACITY: Final = String(enum=("INDEXES", "TOTAL", "NONE"))
_RETURN_ON_FAILURE: Final = String(enum=("ALL_OLD", "NONE"))
_ALONE: Final = {
    "Statement": _STATEMENT,
    "Parameters": _PARAMETERS,
    "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
}

EXECUTE_STATEMENT: Final = Structure(
    "ExecuteStatementInput",
    {
        **_ALONE,
        "ConsistentRead": Boolean(),
        "NextToken": String(minimum=1, maximum=NEXT_TOKEN_CHARACTERS_MAX),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "Limit": Number("Integer", minimum=1),
    },
    required=("Statement",),
)

BATCH_EXECUTE_STATEMENT: Final = Structure(
    "BatchExecuteStatementInput",
    {
        "Statements": ListOf(
            Structure(
                "BatchStatementRequest",
                {**_ALONE, "ConsistentRead": Boolean()},
                required=("Statement",),
            ),
            minimum=1,
            maximum=BATCH_STATEMENTS_MAX,
        ),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
    },
    required=("Statements",),
)

EXECUTE_TRANSACTION: Final = Structure(
    "ExecuteTransactionInput",
    {
        "TransactStatements": ListOf(
            Structure("ParameterizedStatement", _ALONE, required=("Statement",)),
            minimum=1,
            maximum=TRANSACTION_ACTIONS_MAX,
        ),
        "ClientRequestToken": String(minimum=1, maximum=CLIENT_TOKEN_CHARACTERS_MAX),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
    },
    required=("TransactStatements",),
)
