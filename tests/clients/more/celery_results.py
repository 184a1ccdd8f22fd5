# /// script
# dependencies = ["celery[dynamodb]>=5.4"]
# ///
"""A Celery worker that keeps its tasks' results in DynamoDB, with a chord and expiry."""

import os
from urllib.parse import urlsplit

import boto3
from celery import Celery, chord
from celery.contrib.testing.worker import start_worker

port = urlsplit(os.environ["AWS_ENDPOINT_URL"]).port
results = f"dynamodb://key:secret@localhost:{port}/CeleryResults?read=5&write=5&ttl_seconds=3600"
app = Celery("shop", broker="memory://", backend=results)


@app.task
def price(quantity: int) -> int:
    return quantity * 3


@app.task
def total(prices: list[int]) -> int:
    return sum(prices)


@app.task
def fail() -> None:
    raise ValueError("no stock")


with start_worker(app, perform_ping_check=False, loglevel="error"):
    assert price.delay(4).get(timeout=30) == 12
    assert chord([price.s(n) for n in range(5)])(total.s()).get(timeout=30) == 30
    failed = fail.delay()
    assert repr(failed.get(timeout=30, propagate=False)) == "ValueError('no stock')"
client = boto3.client("dynamodb")
rows = client.scan(TableName="CeleryResults")["Items"]
assert any(failed.id in row["id"]["S"] for row in rows)
expiry = client.describe_time_to_live(TableName="CeleryResults")["TimeToLiveDescription"]
assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}, expiry
