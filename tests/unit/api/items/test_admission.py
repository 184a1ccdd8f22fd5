"""Throttling as clients see it: errors, reasons, unprocessed parts, cancelled transactions."""

import pytest

from tests.harness.metered import ARN, KEY, Metered, global_index, units

PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
BURST = 300


@pytest.fixture(params=["memory", "cluster"])
def database(request):
    with Metered(engine=request.param) as database:
        yield database


@pytest.fixture
def plain():
    with Metered() as database:
        yield database


@pytest.fixture
def limited():
    """A database that limits all that AWS does."""
    with Metered("aws") as database:
        yield database


def reasons(document):
    found = document.get("ThrottlingReasons") or document["throttlingReasons"]
    return [(each["reason"], each["resource"]) for each in found]


def item(key):
    return {"p": {"S": key}}


def test_a_provisioned_table_serves_its_burst_and_then_its_rate(database):
    database.create(1, 2)
    assert database.drain_writes() == 2 * BURST
    database.clock.advance(5)
    assert database.drain_writes() == 10
    assert database.drain_reads() == 2 * BURST  # eventually consistent: half a unit each


def test_the_error_names_the_reason_and_the_table(database):
    database.create(1, 1)
    database.drain_writes()
    document = database.refusal("PutItem", TableName="table", Item=item("b"))
    assert document["__type"].endswith("#ProvisionedThroughputExceededException")
    assert document["message"] == PROVISIONED
    assert reasons(document) == [("TableWriteProvisionedThroughputExceeded", ARN)]
    assert database.throttles.seen[-1] == [
        ("table", None, "TableWriteProvisionedThroughputExceeded")
    ]
    database.drain_reads()
    document = database.refusal("GetItem", TableName="table", Key=KEY)
    assert reasons(document) == [("TableReadProvisionedThroughputExceeded", ARN)]


def test_a_throttled_write_changes_nothing_and_a_refused_request_is_not_throttled(database):
    database.create(1, 1)
    database.drain_writes()
    database.refusal("PutItem", TableName="table", Item=item("new"))
    assert "Item" not in database.get("new")
    wrong = database.refusal("PutItem", TableName="table", Item={"q": {"S": "no key"}})
    assert wrong["__type"].endswith("#ValidationException")


def test_a_read_is_charged_after_the_fact_and_leaves_a_debt(plain):
    database = plain
    database.create(1, 1000)
    for number in range(10):
        database.put(str(number), text="x" * 390_000)
    scan = {"TableName": "table", "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
    units = database.call("Scan", **scan)["ConsumedCapacity"]["CapacityUnits"]
    assert BURST / 2 < units < BURST
    # What is left is less than a page needs, but it is not known before.
    database.call("Scan", **scan)
    debt = 2 * units - BURST
    assert reasons(database.refusal("Scan", TableName="table"))
    database.clock.advance(debt - 1)
    assert reasons(database.refusal("Scan", TableName="table"))
    database.clock.advance(2)
    database.call("Scan", TableName="table")


@pytest.mark.parametrize("operation", ["UpdateItem", "DeleteItem"])
def test_every_write_of_one_item_is_throttled(database, operation):
    database.create(1, 1)
    database.drain_writes()
    assert reasons(database.refusal(operation, TableName="table", Key=KEY))


@pytest.mark.parametrize(
    "read",
    [
        {
            "operation": "Query",
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        {"operation": "Scan"},
    ],
    ids=lambda read: read["operation"],
)
def test_queries_and_scans_are_throttled_before_they_read(read, plain):
    database = plain
    database.create(1, 1)
    database.drain_reads()
    operation = read.pop("operation")
    document = database.refusal(operation, TableName="table", **read)
    assert reasons(document) == [("TableReadProvisionedThroughputExceeded", ARN)]


def test_a_batch_leaves_throttled_writes_unprocessed(database):
    database.create(1, 1)
    for _ in range(BURST - 10):
        database.put()
    puts = [{"PutRequest": {"Item": item(str(number))}} for number in range(25)]
    answered = database.call("BatchWriteItem", RequestItems={"table": puts})
    assert answered["UnprocessedItems"] == {"table": puts[10:]}
    assert len(database.throttles.seen[-1]) == 15
    document = database.refusal("BatchWriteItem", RequestItems={"table": puts})
    assert reasons(document) == [("TableWriteProvisionedThroughputExceeded", ARN)]
    assert len(database.throttles.seen[-1]) == 25


def test_a_batch_leaves_throttled_keys_unprocessed(database):
    database.create(1, 1)
    for _ in range(2 * BURST - 10):
        database.get()
    keys = [item(str(number)) for number in range(25)]
    request = {"table": {"Keys": keys, "ProjectionExpression": "p"}}
    answered = database.call("BatchGetItem", RequestItems=request)
    left = {"Keys": keys[10:], "ProjectionExpression": "p"}
    assert answered["UnprocessedKeys"] == {"table": left}
    assert len(database.throttles.seen[-1]) == 15
    assert reasons(database.refusal("BatchGetItem", RequestItems=request))


def test_a_transaction_with_a_throttled_part_is_cancelled(database):
    database.create(1, 1)
    database.drain_writes()
    puts = [{"Put": {"TableName": "table", "Item": item(key)}} for key in "bc"]
    document = database.refusal("TransactWriteItems", TransactItems=puts)
    assert document["__type"].endswith("#TransactionCanceledException")
    reason = {"Code": "ProvisionedThroughputExceeded", "Message": PROVISIONED}
    assert document["CancellationReasons"] == [reason, reason]
    assert len(database.throttles.seen[-1]) == 2
    database.drain_reads()
    gets = [{"Get": {"TableName": "table", "Key": KEY}}]
    document = database.refusal("TransactGetItems", TransactItems=gets)
    assert document["CancellationReasons"] == [reason]


def test_transactions_are_charged_twice(database):
    database.create(10, 10)
    puts = [{"Put": {"TableName": "table", "Item": item(key)}} for key in "bc"]
    for _ in range(10 * BURST // 4):
        database.call("TransactWriteItems", TransactItems=puts)
    assert database.refusal("TransactWriteItems", TransactItems=puts)


def test_statements_are_throttled(database):
    database.create(1, 1)
    database.drain_writes()
    insert = "INSERT INTO \"table\" VALUE {'p': 'z'}"
    assert reasons(database.refusal("ExecuteStatement", Statement=insert))
    answered = database.call("BatchExecuteStatement", Statements=[{"Statement": insert}])
    error = answered["Responses"][0]["Error"]
    assert error == {"Code": "ProvisionedThroughputExceeded", "Message": PROVISIONED}
    assert len(database.throttles.seen[-1]) == 1
    database.drain_reads()
    select = "SELECT * FROM \"table\" WHERE p = 'a'"
    assert reasons(database.refusal("ExecuteStatement", Statement=select))
    answered = database.call("BatchExecuteStatement", Statements=[{"Statement": select}])
    assert answered["Responses"][0]["Error"]["Code"] == "ProvisionedThroughputExceeded"


def test_an_index_without_capacity_refuses_the_writes_that_change_it(database):
    database.create(1, 100, GlobalSecondaryIndexes=[global_index("by-g", "g", 1, 1)])
    for number in range(BURST):
        database.put(str(number), g="x")
    refused = item("refused") | {"g": {"S": "x"}}
    document = database.refusal("PutItem", TableName="table", Item=refused)
    assert document["message"].startswith(
        "The level of configured provisioned throughput for one or more global secondary indexes"
    )
    index = f"{ARN}/index/by-g"
    assert reasons(document) == [("IndexWriteProvisionedThroughputExceeded", index)]
    assert database.throttles.seen[-1] == [
        ("table", "by-g", "IndexWriteProvisionedThroughputExceeded")
    ]
    # Writes that leave the index as it is go on.
    database.put("other")
    puts = [
        {"PutRequest": {"Item": item("plain")}},
        {"PutRequest": {"Item": item("indexed") | {"g": {"S": "x"}}}},
    ]
    answered = database.call("BatchWriteItem", RequestItems={"table": puts})
    assert answered["UnprocessedItems"] == {"table": puts[1:]}
    assert "Item" not in database.get("indexed")
    actions = [{"Put": {"TableName": "table", **put["PutRequest"]}} for put in puts]
    document = database.refusal("TransactWriteItems", TransactItems=actions)
    codes = [reason["Code"] for reason in document["CancellationReasons"]]
    assert codes == ["None", "ProvisionedThroughputExceeded"]
    database.clock.advance(1)
    database.put("indexed", g="x")


def test_reads_of_an_index_use_its_own_capacity(plain):
    database = plain
    database.create(1, 1, GlobalSecondaryIndexes=[global_index("by-g", "g", 2, 1)])
    for _ in range(4 * BURST):
        database.call("Scan", TableName="table", IndexName="by-g")
    document = database.refusal("Scan", TableName="table", IndexName="by-g")
    assert reasons(document) == [("IndexReadProvisionedThroughputExceeded", f"{ARN}/index/by-g")]
    database.get()


def test_a_changed_capacity_counts_at_once_and_keeps_what_was_used(database):
    database.create(1, 1)
    database.drain_writes()
    database.call("UpdateTable", TableName="table", ProvisionedThroughput=units(1, 50))
    assert database.drain_writes() == 0
    database.clock.advance(1)
    assert database.drain_writes() == 50
    database.call("UpdateTable", TableName="table", BillingMode="PAY_PER_REQUEST")
    for _ in range(200):
        database.put()


def test_a_configured_maximum_of_an_on_demand_table_is_enforced(database):
    database.create(OnDemandThroughput={"MaxWriteRequestUnits": 5})
    assert database.drain_writes() == 5
    document = database.refusal("PutItem", TableName="table", Item=item("b"))
    assert document["__type"].endswith("#ThrottlingException")
    assert document["message"] == (
        "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
    )
    assert document["throttlingReasons"] == [
        {"reason": "TableWriteMaxOnDemandThroughputExceeded", "resource": ARN}
    ]
    puts = [{"Put": {"TableName": "table", "Item": item("b")}}]
    document = database.refusal("TransactWriteItems", TransactItems=puts)
    assert document["CancellationReasons"][0]["Code"] == "ThrottlingError"
    for _ in range(1000):
        database.get()
    database.call("UpdateTable", TableName="table", OnDemandThroughput={"MaxWriteRequestUnits": -1})
    for _ in range(100):
        database.put()


def test_nothing_is_metered_when_capacity_is_off_or_nothing_is_limited(plain):
    with Metered("off") as off:
        off.create(1, 1)
        for _ in range(2 * BURST):
            off.put()
    on_demand = plain
    on_demand.create()
    on_demand.put()
    table = on_demand.runner.run(
        on_demand.database.catalog.table("000000000000", "us-east-1", "table")
    )
    assert table.meter is None


def test_a_failed_condition_is_charged(plain):
    database = plain
    database.create(1, 1)
    for _ in range(BURST):
        database.refusal(
            "PutItem",
            TableName="table",
            Item=item("a"),
            ConditionExpression="attribute_exists(p)",
        )
    document = database.refusal("PutItem", TableName="table", Item=item("a"))
    assert reasons(document)


def test_one_hot_key_of_an_on_demand_table_meets_the_ceiling_of_its_key_range(limited):
    database = limited
    database.create()
    assert database.drain_writes(2000) == 1000
    document = database.refusal("PutItem", TableName="table", Item=KEY)
    assert document["message"].startswith(
        "Throughput exceeds the current capacity of your table or index. DynamoDB is"
    )
    assert reasons(document) == [("TableWriteKeyRangeThroughputExceeded", ARN)]
    # Reads have a ceiling of their own, and other key ranges are not concerned.
    database.get()
    database.put("b")


def test_one_hot_key_of_an_index_refuses_writes_to_its_table(limited):
    database = limited
    database.create(GlobalSecondaryIndexes=[global_index("by-g", "g")])
    for number in range(1000):
        database.put(str(number), g="one")
    refused = item("refused") | {"g": {"S": "one"}}
    document = database.refusal("PutItem", TableName="table", Item=refused)
    index = f"{ARN}/index/by-g"
    assert reasons(document) == [("IndexWriteKeyRangeThroughputExceeded", index)]
    database.put("other", g="two")
