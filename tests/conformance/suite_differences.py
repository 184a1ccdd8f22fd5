"""Tests of dynamodb-conformance that Hashrange does not pass, and why."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Difference:
    """A test (or, when it ends in a slash, all tests of a folder) and the reason."""

    test: str
    reason: str

    @property
    def is_single(self) -> bool:
        return not self.test.endswith("/")


REWORDED = "AWS has reworded this message since the suite was recorded"
ACCOUNTS = "account 000000000000, a stranger's on AWS, is our own: not found instead of denied"

EXPECTED = (
    Difference(
        "tier2/tags/basic.test.ts::Tags — validation rejects ListTagsOfResource with a "
        "non-existent ARN",
        ACCOUNTS,
    ),
    *(
        Difference(f"tier3/error-messages/{test}", REWORDED)
        for test in (
            "batchGetItem.test.ts::BatchGetItem — exact error messages empty RequestItems: full "
            "required-parameter error",
            "putItem.test.ts::PutItem — exact error messages ExpressionAttributeValues without "
            "expression: full unused-EAV error",
            "putItem.test.ts::PutItem — exact error messages NULL attr with false: full "
            "null-attribute error",
            "putItem.test.ts::PutItem — exact error messages duplicate values in SS: full "
            "duplicates error",
            "putItem.test.ts::PutItem — exact error messages empty number set: full "
            "parameter-values-invalid error",
            "putItem.test.ts::PutItem — exact error messages empty string set: full "
            "parameter-values-invalid error",
            "putItem.test.ts::PutItem — exact error messages empty table name: minimum length 1 "
            "error",
            "putItem.test.ts::PutItem — exact error messages mixing expression and "
            "non-expression: full conflict error",
            "updateItem.test.ts::UpdateItem — exact error messages empty UpdateExpression",
            "updateItem.test.ts::UpdateItem — exact error messages invalid UpdateExpression syntax",
            "updateItem.test.ts::UpdateItem — exact error messages missing "
            "ExpressionAttributeValues reference",
            "updateItem.test.ts::UpdateItem — exact error messages mixing UpdateExpression with "
            "AttributeUpdates",
            "updateItem.test.ts::UpdateItem — exact error messages unused ExpressionAttributeNames",
            "updateItem.test.ts::UpdateItem — exact error messages unused "
            "ExpressionAttributeValues",
        )
    ),
    *(
        Difference(f"tier3/validation-ordering/{test}", REWORDED)
        for test in (
            "batchOperations.test.ts::Batch operations — validation ordering BatchGetItem rejects "
            "empty RequestItems",
            "deleteItem.test.ts::DeleteItem — validation ordering empty TableName reports only "
            "tableName constraint",
            "deleteItem.test.ts::DeleteItem — validation ordering reports invalid ReturnValues and "
            "invalid ReturnConsumedCapacity together",
            "putItem.test.ts::PutItem — validation ordering empty TableName reports tableName "
            "constraint (stops early)",
            "putItem.test.ts::PutItem — validation ordering empty TableName with invalid "
            "ReturnValues reports only tableName",
            "putItem.test.ts::PutItem — validation ordering reports invalid "
            "ReturnConsumedCapacity, ReturnItemCollectionMetrics, and ReturnValues together",
            "updateItem.test.ts::UpdateItem — validation ordering empty TableName reports only "
            "tableName constraint",
            "updateItem.test.ts::UpdateItem — validation ordering reports invalid ReturnValues and "
            "invalid ReturnConsumedCapacity together",
        )
    ),
)
