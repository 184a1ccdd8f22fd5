"""A DynamoDB client on boto3 or aiobotocore, written once.

Operations are *plans*: generators that yield calls and pauses and get answers sent back (`plans`).
A driver runs a plan with blocking calls (`drivers`) or with awaited ones (`async_driver`), so
that retries, batches, pages and transactions exist once, for both.
"""
