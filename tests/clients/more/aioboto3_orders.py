# /// script
# dependencies = ["aioboto3>=15"]
# ///
"""aioboto3: many requests at a time, pages and a batch writer."""

import asyncio

import aioboto3
from boto3.dynamodb.conditions import Key


async def main() -> None:
    async with aioboto3.Session().resource("dynamodb") as resource:
        table = await resource.create_table(
            TableName="AsyncOrders",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "customer", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
            ],
            KeySchema=[
                {"AttributeName": "customer", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
        )
        await table.wait_until_exists()
        async with table.batch_writer() as batch:
            for n in range(60):
                await batch.put_item(Item={"customer": "ann", "number": n, "state": "new"})
        await asyncio.gather(
            *(
                table.update_item(
                    Key={"customer": "ann", "number": 7},
                    UpdateExpression="ADD changes :one",
                    ExpressionAttributeValues={":one": 1},
                )
                for _ in range(50)
            )
        )
        page = await table.query(KeyConditionExpression=Key("customer").eq("ann"), Limit=8)
        assert page["Items"][7]["changes"] == 50
        paginator = resource.meta.client.get_paginator("scan")
        pages = [len(one["Items"]) async for one in paginator.paginate(TableName="AsyncOrders")]
        assert sum(pages) == 60


asyncio.run(main())
