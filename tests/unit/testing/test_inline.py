"""A database in this process is used from an event loop of the application's own."""

import asyncio

from hashrange import pauses


def test_long_work_inside_a_running_loop_waits_for_nobody(dynamodb, monkeypatch):
    monkeypatch.setattr(pauses, "SLICE_SECONDS", 0.0)
    client = dynamodb.client()
    client.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )

    async def use():
        puts = [{"PutRequest": {"Item": {"id": {"S": str(number)}}}} for number in range(25)]
        client.batch_write_item(RequestItems={"Music": puts})
        return client.scan(TableName="Music")["Count"]

    assert asyncio.run(use()) == 25
