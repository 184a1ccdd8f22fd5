"""Tables whose KMS key cannot be used: settings that touch their items are refused, as on AWS.

They can still be described, tagged and deleted; policies, point-in-time recovery, streams and the
protection against deletion can be changed.
"""

from __future__ import annotations

from hashrange.api.operation import Context


async def check_open(context: Context, name: str) -> None:
    """Refuse a table whose KMS key cannot be used; one that is not there is the caller's matter."""
    record = await context.catalog.find(context.account, context.region, name)
    if record is not None:
        for arn in {key.key_arn for key in record.data_keys}:
            await context.table_keys.usable(arn)
