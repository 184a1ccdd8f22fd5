"""The shards of a stream and the order in which they must be read.

A shard that rolls over or splits has children. Changes of an item are in order only if a child is
read after its parent has been read to the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from hashrange.toolkit.client.plans import Call, Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.streams.checkpoints import SHARD_END

SERVICE = "dynamodbstreams"


@final
@dataclass(frozen=True, slots=True)
class Shard:
    """A shard and its parent; an empty parent means that there is none."""

    id: str
    parent: str = ""
    is_closed: bool = False


def list_shards(stream: str, policy: RetryPolicy = DEFAULT_POLICY) -> Plan[list[Shard]]:
    """Return all shards of a stream."""
    found: list[Shard] = []
    start: dict[str, Any] = {}
    while True:
        call = Call("describe_stream", {"StreamArn": stream, **start}, service=SERVICE)
        description = (yield from attempt(call, policy))["StreamDescription"]
        for shard in description["Shards"]:
            span = shard["SequenceNumberRange"]
            is_closed = "EndingSequenceNumber" in span
            found.append(Shard(shard["ShardId"], shard.get("ParentShardId", ""), is_closed))
        last = description.get("LastEvaluatedShardId")
        if not last:
            return found
        start = {"ExclusiveStartShardId": last}


def readable(shards: Sequence[Shard], positions: Mapping[str, str]) -> list[Shard]:
    """Return the shards that may be read now: not finished, and their parent finished or gone."""
    known = {shard.id for shard in shards}
    return [
        shard
        for shard in shards
        if positions.get(shard.id) != SHARD_END
        and (shard.parent not in known or positions.get(shard.parent) == SHARD_END)
    ]
