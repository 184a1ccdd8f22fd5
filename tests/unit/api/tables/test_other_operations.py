"""DescribeTable, ListTables, DeleteTable, DescribeLimits and DescribeEndpoints."""

from hashrange.storage.catalog import Delays
from tests.harness.tables import Tables


def test_an_absent_table_is_named_in_the_answer() -> None:
    message = "ResourceNotFoundException: Requested resource not found: Table: absent not found"
    for operation in ("DescribeTable", "DeleteTable", "DescribeTimeToLive"):
        assert Tables().refusal(operation, TableName="absent") == message


def test_a_table_is_described_by_its_arn() -> None:
    tables = Tables()
    arn = tables.create()["TableArn"]
    assert tables.describe(arn)["TableName"] == "table"


def test_an_arn_of_another_account_is_not_for_us() -> None:
    arn = "arn:aws:dynamodb:us-east-1:111111111111:table/table"
    assert Tables().refusal("DescribeTable", TableName=arn).startswith("AccessDeniedException")


def test_tables_are_listed_in_order_by_pages() -> None:
    tables = Tables()
    for name in ("delta", "alpha", "charlie", "bravo"):
        tables.create(name)
    first = tables.call("ListTables", Limit=3)
    assert first == {
        "TableNames": ["alpha", "bravo", "charlie"],
        "LastEvaluatedTableName": "charlie",
    }
    rest = tables.call("ListTables", ExclusiveStartTableName="charlie", Limit=1)
    assert rest == {"TableNames": ["delta"]}
    assert tables.call("ListTables", ExclusiveStartTableName="bravado")["TableNames"] == [
        "bravo",
        "charlie",
        "delta",
    ]


def test_a_page_lists_at_most_a_hundred_tables() -> None:
    tables = Tables()
    names = [f"table{number:03}" for number in range(101)]
    for name in names:
        tables.create(name)
    page = tables.call("ListTables")
    assert page["TableNames"] == names[:100]
    assert page["LastEvaluatedTableName"] == names[99]


def test_a_deleted_table_is_deleting_in_the_answer_and_gone_in_the_next() -> None:
    tables = Tables()
    tables.create()
    description = tables.call("DeleteTable", TableName="table")["TableDescription"]
    assert description["TableStatus"] == "DELETING"
    assert "GlobalSecondaryIndexes" not in description
    assert tables.call("ListTables") == {"TableNames": []}
    assert tables.refusal("DescribeTable", TableName="table").startswith("ResourceNotFound")


def test_a_deleted_table_is_listed_and_described_for_the_delay() -> None:
    tables = Tables(Delays(delete_seconds=5))
    tables.create()
    tables.call("DeleteTable", TableName="table")
    assert tables.describe()["TableStatus"] == "DELETING"
    assert tables.call("ListTables") == {"TableNames": ["table"]}
    assert tables.refusal("DeleteTable", TableName="table") == (
        "ResourceInUseException: Attempt to change a resource which is still in use: "
        "Table is being deleted: table"
    )
    tables.clock.advance(5)
    assert tables.call("ListTables") == {"TableNames": []}


def test_a_table_being_created_cannot_be_deleted() -> None:
    tables = Tables(Delays(create_seconds=5))
    tables.create()
    assert tables.refusal("DeleteTable", TableName="table") == (
        "ResourceInUseException: Attempt to change a resource which is still in use: "
        "Table is being created: table"
    )


def test_a_protected_table_cannot_be_deleted() -> None:
    tables = Tables()
    tables.create(DeletionProtectionEnabled=True)
    assert tables.refusal("DeleteTable", TableName="table") == (
        "ValidationException: Resource cannot be deleted as it is currently protected against "
        "deletion. Disable deletion protection first."
    )
    tables.call("UpdateTable", TableName="table", DeletionProtectionEnabled=False)
    tables.call("DeleteTable", TableName="table")


def test_limits_and_endpoints_are_told() -> None:
    assert Tables().call("DescribeLimits") == {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }
    (endpoint,) = Tables().call("DescribeEndpoints")["Endpoints"]
    assert endpoint["Address"] == "dynamodb.us-east-1.amazonaws.com"


def test_a_server_with_an_address_is_the_endpoint() -> None:
    tables = Tables()
    tables.context.address = "127.0.0.1:8000"
    (endpoint,) = tables.call("DescribeEndpoints")["Endpoints"]
    assert endpoint["Address"] == "127.0.0.1:8000"
