"""ListStreams, DescribeStream, GetShardIterator and GetRecords."""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.streams.iterators import ShardIterator, read_sequence
from hashrange.api.tables.definition_checks import INVALID
from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.limits import (
    STREAM_RECORDS_PAGE_MAX,
    STREAM_RETENTION_SECONDS,
    STREAM_SHARDS_PAGE_MAX,
    STREAMS_PAGE_MAX,
)
from hashrange.model.streams import ShardRecord, StreamRecord
from hashrange.storage import streams as logs
from hashrange.storage.catalog import stream_key, streams_prefix
from hashrange.storage.log import change_time
from hashrange.storage.stream_records import describe_change, sequence_text, split_arn

_INVALID_ARN: Final = "Invalid StreamArn"
_BY_SEQUENCE: Final = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


async def list_streams(scope: RequestScope, request: Request) -> Response:
    """List the streams of an account's region or of one table, also disabled ones."""
    context = scope.context
    limit = request.get("Limit", STREAMS_PAGE_MAX)
    if limit > STREAMS_PAGE_MAX:
        raise ValidationException(
            f"{INVALID}Limit cannot be greater than the maximum allowed size: {STREAMS_PAGE_MAX}"
        )
    world = (context.account, context.region)
    table = request.get("TableName")
    if table is not None:
        scope.touch_table(table)
    prefix = streams_prefix(*world) if table is None else streams_prefix(*world, table)
    after = None
    start = request.get("ExclusiveStartStreamArn")
    if start is not None:
        parts = split_arn(start)
        if parts is None or parts[:2] != world:
            raise ValidationException(_INVALID_ARN)
        after = stream_key(*parts)
    streams, has_more = await logs.list_streams(
        context.engine, prefix, after=after, streams_max=limit, now=context.clock.now()
    )
    response: Response = {
        "Streams": [
            {"StreamArn": stream.arn, "TableName": stream.table, "StreamLabel": stream.label}
            for stream in streams
        ]
    }
    if has_more:
        response["LastEvaluatedStreamArn"] = streams[-1].arn
    return response


async def describe_stream(scope: RequestScope, request: Request) -> Response:
    """Describe a stream and its shards, parents before their children."""
    context = scope.context
    limit = request.get("Limit", STREAM_SHARDS_PAGE_MAX)
    if limit > STREAM_SHARDS_PAGE_MAX:
        raise ValidationException(
            f"{INVALID}Limit cannot be greater than the maximum: {STREAM_SHARDS_PAGE_MAX}"
        )
    wanted = request.get("ShardFilter")
    start = request.get("ExclusiveStartShardId")
    if wanted is not None:
        _check_filter(wanted, start)
    now = context.clock.now()
    stream = await _find(scope, request["StreamArn"], now)
    shards = sorted(
        [shard for shard in stream.shards if shard.is_kept(now)], key=lambda shard: shard.id
    )
    if wanted is not None:
        shards = [shard for shard in shards if shard.parent == wanted["ShardId"]]
    if start is not None:
        shards = [shard for shard in shards if shard.id > start]
    bounds = await logs.read_bounds(context.engine, stream)
    description: dict[str, Any] = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": stream.status(now),
        "StreamViewType": stream.view_type,
        "CreationRequestDateTime": round(stream.created_at, 3),
        "TableName": stream.table,
        "KeySchema": stream.key_schema,
        "Shards": [_describe_shard(shard, bounds[shard.number]) for shard in shards[:limit]],
    }
    if len(shards) > limit:
        description["LastEvaluatedShardId"] = shards[limit - 1].id
    return {"StreamDescription": description}


def _check_filter(wanted: dict[str, str], start: str | None) -> None:
    for member, path in (("Type", "type"), ("ShardId", "shardId")):
        if member not in wanted:
            raise ValidationException(
                f"1 validation error detected: Value null at 'shardFilter.{path}' failed to "
                "satisfy constraint: Member must not be null"
            )
    if start is not None:
        raise ValidationException(
            "ShardFilter and ExclusiveStartShardId both should not be specified in the request."
        )


def _describe_shard(shard: ShardRecord, bounds: logs.Bounds) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": sequence_text(bounds.first)}
    if bounds.last is not None:
        numbers["EndingSequenceNumber"] = sequence_text(bounds.last)
    description: dict[str, Any] = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    if shard.parent is not None:
        description["ParentShardId"] = shard.parent
    return description


async def _find(scope: RequestScope, arn: str, now: float) -> StreamRecord:
    context = scope.context
    parts = split_arn(arn)
    if parts is None:
        raise ValidationException(_INVALID_ARN)
    is_own = parts[0] == context.account or context.catalog.is_shared
    if is_own and parts[1] == context.region:
        stream = await logs.find_stream(context.engine, *parts, now)
        if stream is not None:
            scope.touch(stream.arn)
            return stream
    raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")


async def get_shard_iterator(scope: RequestScope, request: Request) -> Response:
    """Return a position in a shard to read records from."""
    context = scope.context
    kind = request["ShardIteratorType"]
    now = context.clock.now()
    _check_position(request, kind, now)
    stream = await _find(scope, request["StreamArn"], now)
    shard = stream.shard(request["ShardId"])
    if shard is None or not shard.is_kept(now):
        raise ResourceNotFoundException("Requested resource not found: Shard does not exist")
    engine = context.engine
    position = 0
    if kind == "LATEST":
        position = await logs.newest_change(engine, stream, shard) + 1
    elif kind == "AT_TIMESTAMP":
        position = await logs.position_at(engine, stream, shard, request["Timestamp"])
    elif kind in _BY_SEQUENCE:
        position = read_sequence(request["SequenceNumber"])
        await _check_sequence(context, stream, shard, position)
        position += kind == "AFTER_SEQUENCE_NUMBER"
        await _check_kept(context, stream, shard, position, now)
    iterator = ShardIterator(
        stream.arn,
        shard.number,
        position,
        now,
        from_horizon=kind in ("TRIM_HORIZON", "AT_TIMESTAMP"),
    )
    return {"ShardIterator": iterator.pack()}


def _check_position(request: Request, kind: str, now: float) -> None:
    """Check that the iterator type has the parameters it needs, and no others."""
    for member, kinds in (("SequenceNumber", _BY_SEQUENCE), ("Timestamp", ("AT_TIMESTAMP",))):
        if member in request and kind not in kinds:
            raise ValidationException(
                f"{INVALID}{member} should not be passed for this iterator type"
            )
        if member not in request and kind in kinds:
            raise ValidationException(f"{INVALID}Invalid {member}")
    if request.get("Timestamp", 0) > now:
        raise ValidationException(f"{INVALID}Timestamp must not be in the future")


async def _check_sequence(
    context: Context, stream: StreamRecord, shard: ShardRecord, number: int
) -> None:
    bounds = (await logs.read_bounds(context.engine, stream, shard))[shard.number]
    last = bounds.last
    if last is None:
        last = await logs.newest_change(context.engine, stream, shard)
    if not bounds.first <= number <= last:
        raise ValidationException("Invalid SequenceNumber for the shard")


async def _check_kept(
    context: Context, stream: StreamRecord, shard: ShardRecord, position: int, now: float
) -> None:
    await logs.check_not_trimmed(context.engine, stream, shard, position)
    row = await logs.first_change(context.engine, stream, shard, position)
    if row is not None and change_time(row[1]) <= now - STREAM_RETENTION_SECONDS:
        raise logs.trimmed()


async def get_records(scope: RequestScope, request: Request) -> Response:
    """Return records of a shard in order, and the position after them."""
    context = scope.context
    limit = request.get("Limit", STREAM_RECORDS_PAGE_MAX)
    if limit > STREAM_RECORDS_PAGE_MAX:
        raise ValidationException(
            f"{INVALID}Limit should be less than or equal to {STREAM_RECORDS_PAGE_MAX}"
        )
    now = context.clock.now()
    iterator = ShardIterator.unpack(request["ShardIterator"], now)
    stream = await _find(scope, iterator.arn, now)
    shard = next((shard for shard in stream.shards if shard.number == iterator.shard), None)
    if shard is None or not shard.is_kept(now):
        raise logs.trimmed()
    page = await logs.read_changes(
        context.engine,
        stream,
        shard,
        iterator.position,
        changes_max=limit,
        now=now,
        from_horizon=iterator.from_horizon,
    )
    size = sum(change.size for change in page.changes)
    scope.note_rows(len(page.changes), size, len(page.changes), size)
    response: Response = {"Records": [describe_change(stream, change) for change in page.changes]}
    if page.position is not None:
        following = ShardIterator(
            stream.arn, shard.number, page.position, now, from_horizon=page.is_at_horizon
        )
        response["NextShardIterator"] = following.pack()
    return response
