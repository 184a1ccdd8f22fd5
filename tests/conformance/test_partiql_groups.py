"""BatchExecuteStatement and ExecuteTransaction: several statements, each alone or all together."""

import uuid

import pytest

CANCELLED = (
    "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]".format
)
MALFORMED = "Statement wasn't well formed, can't be processed: "


@pytest.fixture
def table(client, tables):
    name = tables.create("p:S")
    for key in ("a", "b"):
        item = {"p": {"S": key}, "n": {"N": "1"}, "m": {"M": {"x": {"S": key}}}}
        client.put_item(TableName=name, Item=item)
    return name


@pytest.fixture
def batch(client, table):
    def execute(*statements, **more):
        return client.batch_execute_statement(Statements=_members(table, statements), **more)

    return execute


@pytest.fixture
def transaction(client, table):
    def execute(*statements, **more):
        return client.execute_transaction(TransactStatements=_members(table, statements), **more)

    return execute


def _members(table, statements):
    members = [{"Statement": one} if isinstance(one, str) else one for one in statements]
    return [
        {**member, "Statement": member["Statement"].replace(" T ", f' "{table}" ')}
        for member in members
    ]


def number(client, table, key):
    return client.get_item(TableName=table, Key={"p": {"S": key}}).get("Item", {}).get("n")


def test_a_batch_answers_each_statement_in_its_place(client, table, batch):
    reads = batch(
        "SELECT n FROM T WHERE p = 'a'",
        "SELECT * FROM T WHERE p = 'nobody'",
        "SELECT * FROM absent WHERE p = 'a'",
    )["Responses"]
    assert reads[0] == {"TableName": table, "Item": {"n": {"N": "1"}}}
    assert reads[1] == {"TableName": table}
    assert reads[2]["Error"]["Code"] == "ResourceNotFound"
    writes = batch(
        "UPDATE T SET n = 2 WHERE p = 'a' RETURNING MODIFIED NEW *",
        "UPDATE T SET n = nope WHERE p = 'b'",
        "DELETE FROM T WHERE p = 'nobody' RETURNING ALL OLD *",
    )["Responses"]
    assert writes[0] == {"TableName": table, "Item": {"n": {"N": "2"}}}
    assert writes[1]["Error"]["Code"] == "ValidationError"
    assert writes[1]["TableName"] == writes[2]["TableName"] == table
    assert "Item" not in writes[2]
    assert number(client, table, "a") == {"N": "2"}


@pytest.mark.beyond_dynamodb_local("has other words")
def test_errors_of_a_batch_stay_with_their_statements(table, batch):
    must = (
        "Select statements within BatchExecuteStatement must specify the primary key in the where "
        "clause."
    )
    for statement, message in (
        ("SELECT * FROM T WHERE n = 1", must),
        ("SELECT * FROM T WHERE p = 'a' AND n = 1", must),
        ("SELECT * FROM T WHERE p IN ['a']", must),
        ("SLECT * FROM T WHERE p = 'a'", MALFORMED + "Expected data manipulation"),
        ("SELECT * FROM T WHERE", MALFORMED + "Unexpected term"),
    ):
        failed, done = batch(statement, "SELECT n FROM T WHERE p = 'b'")["Responses"]
        assert failed == {"Error": {"Code": "ValidationError", "Message": message}}
        assert done["Item"] == {"n": {"N": "1"}}


def test_failed_conditions_in_a_batch(client, table, batch):
    responses = batch(
        "INSERT INTO T VALUE {'p': 'a'}",
        {
            "Statement": "UPDATE T SET n = 2 WHERE p = 'b' AND n = 7",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    )["Responses"]
    assert [one["Error"]["Code"] for one in responses] == [
        "DuplicateItem",
        "ConditionalCheckFailed",
    ]
    assert [one["TableName"] for one in responses] == [table, table]
    assert responses[1]["Error"]["Item"]["n"] == {"N": "1"}
    assert "Item" not in responses[1]


def test_a_batch_is_either_of_reads_or_of_writes_on_different_items(batch, refused):
    read, write = "SELECT * FROM T WHERE p = 'a'", "UPDATE T SET n = 2 WHERE p = 'a'"
    mixed = "Read and write requests together in the same batch is not supported."
    with refused("ValidationException", mixed):
        batch(read, write)
    for statement in (read, write):
        with refused("ValidationException", "Provided list of item keys contains duplicates"):
            batch(statement, statement)


@pytest.mark.beyond_dynamodb_local("no capacity for statements")
def test_every_statement_of_a_batch_pays_its_own_rate(table, batch):
    read = "SELECT * FROM T WHERE p = '{}'"
    found = batch(
        {"Statement": read.format("a"), "ConsistentRead": True},
        read.format("b"),
        ReturnConsumedCapacity="TOTAL",
    )
    assert found["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 1.5}]


def test_a_transaction_of_reads(transaction):
    found = transaction("SELECT * FROM T WHERE p = 'zz'", "SELECT n FROM T WHERE p = 'a'")
    assert found["Responses"] == [{}, {"Item": {"n": {"N": "1"}}}]


def test_a_transaction_writes_all_or_nothing(client, table, transaction, refused):
    done = transaction(
        "INSERT INTO T VALUE {'p': 'c', 'n': 3}",
        "UPDATE T SET n = n + 1 WHERE p = 'a'",
        "EXISTS(SELECT * FROM T WHERE p = 'b' AND n = 1)",
    )
    assert done["Responses"] == []
    assert number(client, table, "a") == {"N": "2"}
    codes = "None, ConditionalCheckFailed, ConditionalCheckFailed"
    with refused("TransactionCanceledException", CANCELLED(codes)) as caught:
        transaction(
            "DELETE FROM T WHERE p = 'c'",
            "EXISTS(SELECT * FROM T WHERE p = 'b' AND n = 9)",
            {
                "Statement": "UPDATE T SET n = n + 1 WHERE p = 'a' AND n = 1",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        )
    assert caught.value.response["CancellationReasons"][2]["Item"]["n"] == {"N": "2"}
    assert number(client, table, "a") == {"N": "2"}
    assert number(client, table, "c") == {"N": "3"}


@pytest.mark.beyond_dynamodb_local("calls it a ValidationError")
def test_a_duplicate_cancels_a_transaction(transaction, refused):
    with refused("TransactionCanceledException", CANCELLED("DuplicateItem, None")) as caught:
        transaction("INSERT INTO T VALUE {'p': 'a'}", "UPDATE T SET n = 2 WHERE p = 'b'")
    reason = caught.value.response["CancellationReasons"][0]
    assert reason["Message"] == "Duplicate primary key exists in table"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE T SET n = 2 WHERE p = 'a' RETURNING ALL NEW *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        (
            "SELECT * FROM T WHERE p = 'a' AND n = 1",
            "Select statements within ExecuteTransaction must specify the primary key in the "
            "where clause.",
        ),
        (
            "EXISTS(SELECT * FROM T WHERE p = 'a')",
            "EXISTS() must contain a single item read with additional condition",
        ),
        (
            "SELECT * FROM T WHERE p = ?",
            "Number of parameters in request and statement don't match.",
        ),
    ],
)
def test_what_no_transaction_takes(transaction, refused, statement, message):
    with refused("ValidationException", f"Validation failed in TransactStatements[0]: {message}"):
        transaction(statement)


@pytest.mark.beyond_dynamodb_local("does not say which statement it was")
def test_a_statement_of_a_transaction_that_does_not_parse(transaction, refused):
    message = f"Validation failed in TransactStatements[1]: {MALFORMED}Unexpected term"
    with refused("ValidationException", message):
        transaction("SELECT * FROM T WHERE p = 'a'", "SELECT * FROM T WHERE")


def test_a_transaction_is_either_of_reads_or_of_writes_on_different_items(transaction, refused):
    read, write = "SELECT * FROM T WHERE p = 'a'", "UPDATE T SET n = 2 WHERE p = 'a'"
    mixed = (
        "ExecuteTransaction API does not support both read and write operations in the same "
        "request."
    )
    with refused("ValidationException", mixed):
        transaction(read, write)
    several = "Transaction request cannot include multiple operations on one item"
    for statement in (read, write):
        with refused("ValidationException", several):
            transaction(statement, statement)


@pytest.mark.beyond_dynamodb_local("no capacity for statements")
def test_a_repeated_transaction_is_carried_out_once(client, table, transaction):
    request = {"ClientRequestToken": uuid.uuid4().hex, "ReturnConsumedCapacity": "TOTAL"}
    statement = "UPDATE T SET n = n + 1 WHERE p = 'a'"
    (first,) = transaction(statement, **request)["ConsumedCapacity"]
    (second,) = transaction(statement, **request)["ConsumedCapacity"]
    assert number(client, table, "a") == {"N": "2"}
    assert first == {"TableName": table, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}
    assert second == {"TableName": table, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        transaction(statement.replace("+ 1", "+ 2"), **request)
