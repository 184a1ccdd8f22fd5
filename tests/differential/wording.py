"""Texts: AWS's words beside DynamoDB Local's, and the order in which AWS refuses."""

import re

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "

# DynamoDB Local's words, and AWS's for the same refusal.
REWORDED = (
    ("Cannot do operations on a non-existent table", "Requested resource not found"),
    ("Return values set to invalid value", "ReturnValues can only be ALL_OLD or NONE"),
    (
        "The number of conditions on the keys is invalid",
        "The provided key element does not match the schema",
    ),
    ("One of the required keys was not given a value", f"{INVALID}Missing the key"),
    (f"{INVALID}Type mismatch for key", f"{INVALID}Type mismatch for key"),
    (f"{INVALID}Type mismatch for Index Key", f"{INVALID}Type mismatch for Index Key"),
    ("DynamoDB only supports precision up to 38 digits", "Attempting to store more than 38"),
    ("DynamoDB only supports precision up to 38 digits", "Number overflow."),
    ("Number underflow.", "Number overflow."),
    ("A value provided cannot be converted into a number", "The parameter cannot be converted"),
    ("Query condition missed key schema element", "Query condition missed key schema element: "),
    (
        "Cannot specify the ProjectionExpression when choosing to get only the Count",
        f"{INVALID}Cannot specify the ProjectionExpression when choosing to get COUNT",
    ),
    (
        "The provided starting key does not match the range key predicate",
        "The provided starting key is outside query boundaries based on provided conditions",
    ),
    ("Cannot create preexisting table", "Table already exists: "),
    ("Invalid attribute value type", "The provided key element does not match the schema"),
    ("Invalid attribute value type", f"{INVALID}Type mismatch for "),
    (f"{INVALID}Type mismatch for key", "The provided key element does not match the schema"),
    ("Exclusive Start Key must have same size", "The provided starting key is invalid"),
    (
        "ExpressionAttributeValues can only be specified when using expressions: ",
        "ExpressionAttributeValues can only be specified when using expressions",
    ),
    ("Input collection contains duplicates", f"{INVALID}Input collection contains duplicates."),
    (f"{INVALID}Input collection [", f"{INVALID}Input collection ["),
    (f"{INVALID}Input collection of type BS", f"{INVALID}Input collection ["),
    ("1 validation error detected: Value '", "The Segment parameter is zero-based"),
    ("If segment is specified", "The TotalSegments parameter is required"),
    ("If total segments is specified", "The Segment parameter is required"),
    ("BatchWriteItem cannot have a null", "The requestItems parameter is required"),
    ("Invalid Request: TransactWriteRequest should contain", "TransactItems can only contain one"),
    ("Limit must be greater than or equal to 1", "1 validation error detected: "),
    ("Return values set to invalid value", "Failed to satisfy constraint: Member must satisfy"),
    ("Only scalar types can be used as Range Key", "Attempted conditional constraint is not an"),
    ("Type mismatch for attribute to update", "The provided key element does not match the sch"),
    ("Type mismatch for attribute to update", "The provided starting key is invalid: The provid"),
    (
        "The provided starting key does not match the range key predicate",
        "The query can return at most one row and cannot be restarted",
    ),
    ("One of the required keys was not given a value", "The provided key element does not match"),
    ("The supplied Item contains a null AttributeValue", "Supplied AttributeValue is empty"),
    ("The list of keys in RequestItems for BatchGetItem", "The provided key element does not mat"),
    ("Invalid attribute value type", "The update expression attempted to update the secondary"),
    (
        "Invalid attribute value type",
        "One or more parameter values are not valid. The update expression attempted to update a",
    ),
    ("Nesting Levels have exceeded supported", "Nesting Levels have exceeded supported limits: "),
    ("Updates on index keys must be of the same data", f"{INVALID}Type mismatch for Index Key"),
    ("Query key condition not supported", "Attempted conditional constraint is not an indexable"),
    ("Query key condition not supported", "The number of query conditions ("),
    ("Updates on index keys must be of the same data", "The update expression attempted to updat"),
    (f"{INVALID}Type mismatch for Index Key", "The update expression attempted to update the sec"),
    (
        "Consistent reads are not supported on global secondary indexes",
        "Strongly consistent read is not supported on Global Secondary Indexes",
    ),
    ("Exclusive start key must lie within the segment", "The provided starting key is invalid: "),
    (
        "Supplied AttributeValue has more than one datatypes set",
        "Supplied AttributeValue is empty, must contain exactly one",
    ),
)
# The same for refusals of tables, which DynamoDB Local words freely.
REWORDED_TABLES = (
    ("Invalid key order.", "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
    ("No Hash Key specified", "Invalid KeySchema: The first KeySchemaElement is not a HASH"),
    ("Two keys can not have the same name", "Both the Hash Key and the Range Key element"),
    ("Two keys can not have the same name", "Invalid KeySchema: Some index key attribute have no"),
    ("The number of attributes in key schema must", f"{INVALID}Number of attributes in KeySchema"),
    ("The number of attributes in key schema must", f"{INVALID}Some AttributeDefinitions are not"),
    ("The number of attributes in key schema must", f"{INVALID}List of "),
    ("GSI list is empty/invalid", f"{INVALID}List of GlobalSecondaryIndexes is empty"),
    ("Local Secondary Index range key not specified", f"{INVALID}Some index key attributes"),
    ("Attribute ", f"{INVALID}Some index key attributes are not defined"),
    ("No provisioned throughput specified", f"{INVALID}ReadCapacityUnits and WriteCapacityUnits"),
    ("No provisioned throughput specified", f"{INVALID}ProvisionedThroughput must be specified"),
    ("No Attribute Schema Defined", "Invalid KeySchema: Some index key attribute have no"),
    ("No attributes should be specified to be projected", f"{INVALID}ProjectionType is "),
    (
        "Too many hash keys specified",
        "Invalid KeySchema: The second KeySchemaElement is not a RANGE",
    ),
    ("Nothing to update", "At least one of ProvisionedThroughput, BillingMode"),
    ("Indexes must have a projection specified", f"{INVALID}Unknown ProjectionType"),
    ("Global Secondary Index", f"{INVALID}Some index key attributes are not defined"),
    ("Hash Key not specified in Attribute Definitions", "Invalid KeySchema: "),
    ("Hash Key not specified in Attribute Definitions", f"{INVALID}Some index key attributes are"),
    ("Range Key not specified in Attribute Definitions", f"{INVALID}Some index key attributes are"),
    ("Range Key not specified in Attribute Definitions", "Invalid KeySchema: "),
    ("If Projection type INCLUDE is specified", f"{INVALID}ProjectionType is INCLUDE"),
    ("If Projection type ALL is specified", f"{INVALID}ProjectionType is ALL"),
    ("If Projection type KEYS_ONLY is specified", f"{INVALID}ProjectionType is KEYS_ONLY"),
    ("invalid attribute, SchemaElement redefined", "Attributes cannot be redefined."),
    ("Cannot have two attributes with the same name", "Attribute Name is duplicated: "),
    ("Update global secondary index action is null", f"{INVALID}One of GlobalSecondaryIndexUpdate"),
    ("Value null at 'tableName'", "The parameter 'TableName' is required but was not present"),
    ("Two global secondary indices have the same name", f"{INVALID}Duplicate index name"),
    ("Two local secondary indices have the same name", f"{INVALID}Duplicate index name"),
    ("Local Secondary Indices AND Global", f"{INVALID}Duplicate index name"),
    ("Local secondary indices must have a range key", f"{INVALID}Index KeySchema does not have a"),
)


# What DynamoDB Local makes a table of, and AWS refuses.
NOT_REFUSED = (
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY",
    "Some AttributeDefinitions are not used.",
    "List of LocalSecondaryIndexes is empty",
    "List of GlobalSecondaryIndexes is empty",
)

CONSTRAINT = re.compile(r"^\d+ validation errors? detected: .*failed to satisfy constraint: ")
# Constraints that DynamoDB Local does not know.
UNKNOWN_CONSTRAINTS = (
    r"enum value set: \[HASH, RANGE\]",
    r"value greater than or equal to 1$",
    r"enum value set: \[INDEXES, TOTAL, NONE\]",
)
# JSON of the wrong type that DynamoDB Local makes into the right one.
CONVERTED = (
    "NUMBER_VALUE cannot be converted to String",
    "DECIMAL_VALUE cannot be converted to String",
    "STRING_VALUE cannot be converted to Integer",
    "TRUE_VALUE cannot be converted to String",
    "FALSE_VALUE cannot be converted to String",
    "NUMBER_VALUE cannot be converted to Boolean",
    "Unexpected token received from parser",
    "Invalid last non-pad Base64 character",
)

SELECT = re.compile(r"choosing to get|ALL_PROJECTED_ATTRIBUTES can be used only")

# What a statement can be refused for before its table is looked at.
STATEMENT_REFUSALS = re.compile(
    r"BETWEEN operator|Incorrect operand type|Unrecognized function|argument to SET_"
    r"|Number of parameters|Supplied AttributeValue|not allowed in an update|may not be empty"
    r"|contains duplicates|document paths|Duplicate identifiers|numeric value|must be distinct"
    r"|ORDER BY clause"
)

# What an update can be refused for when it meets the item.
RUN_TIME_REFUSALS = (
    "The document path provided in the update expression is invalid for update",
    "The provided expression refers to an attribute that does not exist in the item",
    "An operand in the update expression has an incorrect data type",
)

# The order in which AWS looks at a request: what is refused at an earlier step is reported.
# dynalite's tests, recorded from AWS, tell it: each has the faults of later steps in its request.
STEPS = tuple(
    re.compile(pattern)
    for pattern in (
        r"SerializationException",
        r"ailed to satisfy constraint|is required but was not present",
        r"Can not use both expression and non-expression",
        r"can only be specified when using expressions",
        # The values of an item or key, and of the parameters that expressions have replaced.
        r"ExpressionAttribute\w+ must not be empty|contains invalid key",
        r"contains invalid value|Supplied AttributeValue|Null attribute value|null AttributeValue"
        r"|Input collection|may not be empty|numeric value|Number |significant digits"
        r"|may not have a null|sets should not be empty|Nesting Levels|Empty attribute name"
        r"|cannot be converted",
        r"ReturnValues can only|Return values set",
        r"DELETE action|ADD action|action is allowed",
        r"ConditionalOperator|ComparisonOperator|must be provided when|cannot be used when"
        r"|argument",
        r"Duplicate value in attribute name",
        r"Either the KeyConditions or KeyConditionExpression",
        r"Invalid UpdateExpression",
        r"Invalid ConditionExpression",
        r"Invalid KeyConditionExpression: (?!KeyConditionExpressions must)",
        r"Invalid FilterExpression",
        r"Invalid ProjectionExpression",
        r"unused in expressions",
        r"operator used in Key|condition in Key|BETWEEN condition|KeyConditionExpressions"
        r"|Conditions can be of length",
        r"At least one of|must be specified when BillingMode|One of GlobalSecondaryIndexUpdate",
        r"ResourceNotFoundException",
        r"Invalid table/index name",
        r"IndexName or TableName|specified index|ConsistentRead|Consistent reads",
        r"starting key is invalid|same size as table's key|attribute to update",
        r"missed key schema|condition not supported|not an indexable|match schema type"
        r"|query conditions|RANGE key attributes|scalar types can be used",
        r"starting key|cannot be restarted",
        r"non-primary key attributes",
        r"does not project|ALL_ATTRIBUTES is not supported",
        # Keys of items against the schema.
        r"key element|conditions on the keys|required keys|Missing the key|Type mismatch for key"
        r"|Invalid attribute value type|cannot contain an empty \w+ value. Key:",
        r"part of the key",
        r"Index Key|IndexKey|index key",
        r"must be scalars",
        r"multiple operations on one item|contains duplicates",
        r"ConditionalCheckFailed",
        r"document path provided|refers to an attribute that does not|operand in the update",
    )
)
VALUES_STEP = next(n for n, step in enumerate(STEPS) if step.search("Supplied AttributeValue"))
SCHEMA_STEP = next(n for n, step in enumerate(STEPS) if step.search("ResourceNotFoundException"))


def step_of(message: str) -> int | None:
    """Return at which step a request is refused so; None if that is not known."""
    return next((n for n, step in enumerate(STEPS) if step.search(message)), None)
