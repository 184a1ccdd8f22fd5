# /// script
# dependencies = ["hashrange", "boto3", "freezegun>=1.5", "time-machine>=2.16"]
# [tool.uv.sources]
# hashrange = { path = "../../..", editable = true }
# ///
"""freezegun and time-machine move the clock of a database in this process."""

from datetime import UTC, datetime, timedelta

import boto3
import time_machine
from freezegun import freeze_time

import hashrange.testing


def invite(days: int) -> None:
    expires = int((datetime.now(UTC) + timedelta(days=days)).timestamp())
    boto3.resource("dynamodb").Table("Invitations").put_item(Item={"id": "ann", "expires": expires})


def invited() -> int:
    return boto3.resource("dynamodb").Table("Invitations").scan()["Count"]


for travel in (freeze_time, time_machine.travel):
    with hashrange.testing.local() as db:
        db.clock.follow()
        db.client().create_table(
            TableName="Invitations",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        db.client().update_time_to_live(
            TableName="Invitations",
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
        )
        invite(days=7)
        with travel(datetime.now(UTC) + timedelta(days=6)):
            assert invited() == 1, travel
        with travel(datetime.now(UTC) + timedelta(days=8)):
            assert invited() == 0, travel
            created = db.client().describe_table(TableName="Invitations")["Table"]
            age = datetime.now(UTC) - created["CreationDateTime"].replace(tzinfo=UTC)
            assert timedelta(days=7) < age < timedelta(days=9), age
