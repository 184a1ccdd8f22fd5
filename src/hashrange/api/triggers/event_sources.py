"""CreateEventSourceMapping, Get, List, Update and Delete: Lambda's calls for triggers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final, final
from uuid import uuid4

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.shapes.scalars import Boolean, Number, Shape, String
from hashrange.api.shapes.structures import ListOf, Structure
from hashrange.errors import (
    InvalidParameterValueException,
    ResourceConflictException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from hashrange.model.patterns import PatternError, parse_pattern
from hashrange.model.triggers import (
    NO_RESULT,
    UNBOUNDED,
    MappingRecord,
    function_arn,
    function_name,
)
from hashrange.storage.stream_records import split_arn
from hashrange.storage.streams import find_stream
from hashrange.storage.triggers import TriggerStore

FILTERS_MAX: Final = 10
_AGE_SECONDS_MIN: Final = 60
_PAGE_MAX: Final = 100
_LOCAL_DESTINATION: Final = re.compile(r"file:///.+|https?://[^/]+.*")
_REPORT: Final = "ReportBatchItemFailures"


@final
class _Anything(Shape):
    """A member that is described unchanged, or always refused."""

    def __init__(self) -> None:
        self.java = "java.lang.Object"
        self.has_values = False

    def fits(self, value: object) -> bool:
        return True

    def convert(self, value: Any, *, is_field: bool) -> Any:
        return value


# Kept and shown. But for MetricsConfig they have no effect here.
_SHOWN: Final[tuple[str, ...]] = ("KMSKeyArn", "LoggingConfig", "MetricsConfig")
_OTHER_SOURCES: Final[tuple[str, ...]] = (
    "AmazonManagedKafkaEventSourceConfig",
    "DocumentDBEventSourceConfig",
    "ProvisionedPollerConfig",
    "Queues",
    "ScalingConfig",
    "SelfManagedEventSource",
    "SelfManagedKafkaEventSourceConfig",
    "SourceAccessConfigurations",
    "StartingPositionTimestamp",
    "Topics",
)
_FUNCTION_NAME: Final = String(minimum=1, maximum=256)
_UUID: Final = String()
_OPTIONS: Final[dict[str, Shape]] = {
    **{name: _Anything() for name in (*_SHOWN, *_OTHER_SOURCES)},
    "BatchSize": Number("Integer", minimum=1, maximum=10_000),
    "MaximumBatchingWindowInSeconds": Number("Integer", minimum=0, maximum=300),
    "ParallelizationFactor": Number("Integer", minimum=1, maximum=10),
    "MaximumRecordAgeInSeconds": Number("Integer", minimum=-1, maximum=604_800),
    "MaximumRetryAttempts": Number("Integer", minimum=-1, maximum=10_000),
    "TumblingWindowInSeconds": Number("Integer", minimum=0, maximum=900),
    "BisectBatchOnFunctionError": Boolean(),
    "Enabled": Boolean(),
    "FunctionResponseTypes": ListOf(String(enum=(_REPORT,)), maximum=1),
    "FilterCriteria": Structure(
        "FilterCriteria",
        {"Filters": ListOf(Structure("Filter", {"Pattern": String(maximum=4096)}))},
    ),
    "DestinationConfig": Structure(
        "DestinationConfig",
        {"OnFailure": Structure("OnFailure", {"Destination": String(maximum=350)})},
    ),
}
CREATE: Final = Structure(
    "CreateEventSourceMappingRequest",
    {
        "EventSourceArn": String(),
        "FunctionName": _FUNCTION_NAME,
        "StartingPosition": String(enum=("LATEST", "AT_TIMESTAMP", "TRIM_HORIZON")),
        **_OPTIONS,
    },
    required=("FunctionName",),
)
UPDATE: Final = Structure(
    "UpdateEventSourceMappingRequest",
    {"UUID": _UUID, "FunctionName": _FUNCTION_NAME, **_OPTIONS},
    required=("UUID",),
)
ONE: Final = Structure("GetEventSourceMappingRequest", {"UUID": _UUID}, required=("UUID",))
LIST: Final = Structure(
    "ListEventSourceMappingsRequest",
    {
        "EventSourceArn": String(),
        "FunctionName": _FUNCTION_NAME,
        "Marker": String(),
        "MaxItems": Number("Integer", minimum=1, maximum=10_000),
    },
)
# Member of a request, and the field of a mapping it becomes.
_FIELDS: Final = {
    "BatchSize": "batch_size",
    "MaximumBatchingWindowInSeconds": "window_seconds",
    "ParallelizationFactor": "lanes",
    "MaximumRecordAgeInSeconds": "age_seconds_max",
    "MaximumRetryAttempts": "retries_max",
    "BisectBatchOnFunctionError": "bisects",
    "Enabled": "is_enabled",
}


def check_options(request: Request, *, files_allowed: bool) -> None:
    """Check the members that create and update share; `files_allowed` lets reports go to files."""
    for name in _OTHER_SOURCES:
        if name in request:
            raise InvalidParameterValueException(f"{name} is not for DynamoDB streams.")
    if request.get("TumblingWindowInSeconds"):
        raise InvalidParameterValueException(
            "This server has no tumbling windows: leave TumblingWindowInSeconds out, or 0."
        )
    age = request.get("MaximumRecordAgeInSeconds", UNBOUNDED)
    if UNBOUNDED < age < _AGE_SECONDS_MIN:
        raise InvalidParameterValueException(
            f"MaximumRecordAgeInSeconds is -1, or from {_AGE_SECONDS_MIN} to 604800."
        )
    _check_filters(request.get("FilterCriteria"))
    destination = _destination(request)
    if destination and not files_allowed and destination.startswith("file:"):
        raise InvalidParameterValueException(
            "This server reports to files only if its settings name them, or with "
            "--allow-functions."
        )


def _check_filters(criteria: dict[str, Any] | None) -> None:
    filters = [] if criteria is None else criteria.get("Filters", [])
    if len(filters) > FILTERS_MAX:
        raise InvalidParameterValueException(f"A mapping has at most {FILTERS_MAX} filters.")
    for member in filters:
        try:
            parse_pattern(member.get("Pattern", ""))
        except PatternError as error:
            raise InvalidParameterValueException("Invalid filter pattern definition.") from error


def _destination(request: Request) -> str | None:
    """Return where a request wants discarded batches reported, checked; "" for nowhere."""
    if "DestinationConfig" not in request:
        return None
    text: str = request["DestinationConfig"].get("OnFailure", {}).get("Destination", "")
    if text and not _LOCAL_DESTINATION.fullmatch(text) and function_name(text) is None:
        raise InvalidParameterValueException(
            "The destination of this server's triggers is a file:// or http(s):// URL, or the "
            f"name or ARN of a function, not {text}"
        )
    return text


def apply_options(mapping: MappingRecord, request: Request) -> MappingRecord:
    """Return a mapping with the options of a request applied; pure."""
    changes: dict[str, Any] = {
        field: request[member] for member, field in _FIELDS.items() if member in request
    }
    if "FunctionResponseTypes" in request:
        changes["reports_failures"] = _REPORT in request["FunctionResponseTypes"]
    if "FilterCriteria" in request:
        filters = request["FilterCriteria"].get("Filters", [])
        changes["filters"] = [member["Pattern"] for member in filters]
    destination = _destination(request)
    if destination is not None:
        changes["destination"] = destination or None
    shown = {name: request[name] for name in _SHOWN if name in request}
    return replace(mapping, **changes, described={**mapping.described, **shown})


def describe(mapping: MappingRecord, state: str, result: str) -> Response:
    """Return a mapping as Lambda describes it."""
    on_failure = {"Destination": mapping.destination} if mapping.destination else {}
    response: Response = {
        "UUID": mapping.uuid,
        "EventSourceMappingArn": mapping.arn,
        "EventSourceArn": mapping.stream_arn,
        "FunctionArn": mapping.function_arn,
        "StartingPosition": mapping.starting_position,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.window_seconds,
        "ParallelizationFactor": mapping.lanes,
        "MaximumRecordAgeInSeconds": mapping.age_seconds_max,
        "MaximumRetryAttempts": mapping.retries_max,
        "BisectBatchOnFunctionError": mapping.bisects,
        "TumblingWindowInSeconds": 0,
        "FunctionResponseTypes": [_REPORT] if mapping.reports_failures else [],
        "DestinationConfig": {"OnFailure": on_failure},
        "LastModified": mapping.modified_at,
        "LastProcessingResult": result,
        "State": state,
        "StateTransitionReason": "User action",
        **mapping.described,
    }
    if mapping.filters:
        response["FilterCriteria"] = {"Filters": [{"Pattern": text} for text in mapping.filters]}
    return response


@final
class EventSources:
    """The calls; one object for all accounts and regions."""

    def __init__(self, store: TriggerStore, *, files_allowed: bool) -> None:
        self._store = store
        self._files_allowed = files_allowed

    async def create(self, scope: RequestScope, request: Request) -> Response:
        """Join a stream to a function."""
        context = scope.context
        check_options(request, files_allowed=self._files_allowed)
        arn = request.get("EventSourceArn", "")
        parts = split_arn(arn)
        if parts is None:
            raise InvalidParameterValueException("Unrecognized event source.")
        position = request.get("StartingPosition")
        if position is None:
            raise InvalidParameterValueException(
                "1 validation error detected: Value null at 'startingPosition' failed to satisfy "
                "constraint: Member must not be null."
            )
        if position == "AT_TIMESTAMP":
            raise InvalidParameterValueException(
                f"Unsupported starting position for arn type: {arn}"
            )
        function = await self._function(scope, request["FunctionName"])
        now = context.clock.now()
        world = (context.account, context.region)
        if parts[:2] != world or await find_stream(context.engine, *parts, now) is None:
            raise InvalidParameterValueException(f"Stream not found: {arn}")
        scope.touch(arn)
        mapping = apply_options(
            MappingRecord(
                uuid=str(uuid4()),
                account=context.account,
                region=context.region,
                stream_arn=arn,
                function=function,
                starting_position=position,
                modified_at=now,
                settled_at=now + context.catalog.delays.update_seconds,
            ),
            request,
        )
        scope.touch(mapping.arn)
        existing = await self._store.create(mapping)
        if existing is not None:
            raise _conflict(arn, function, existing)
        return describe(mapping, "Creating", NO_RESULT)

    async def get(self, scope: RequestScope, request: Request) -> Response:
        """Describe a mapping."""
        context = scope.context
        mapping = await self._mapping(scope, request["UUID"])
        return describe(
            mapping,
            mapping.state(context.clock.now()),
            await self._store.result(mapping.uuid),
        )

    async def list(self, scope: RequestScope, request: Request) -> Response:
        """Describe the mappings of a stream, of a function, or all, page by page."""
        context = scope.context
        stream = request.get("EventSourceArn")
        function = request.get("FunctionName")
        name = None if function is None else function_name(function)
        limit = min(request.get("MaxItems", _PAGE_MAX), _PAGE_MAX)
        now = context.clock.now()
        found = [
            mapping
            for mapping in await self._store.mappings()
            if (mapping.account, mapping.region) == (context.account, context.region)
            and stream in (None, mapping.stream_arn)
            and (function is None or name == mapping.function)
            and mapping.uuid > request.get("Marker", "")
        ]
        page = [
            describe(mapping, mapping.state(now), await self._store.result(mapping.uuid))
            for mapping in found[:limit]
        ]
        response: Response = {"EventSourceMappings": page}
        if len(found) > limit:
            response["NextMarker"] = found[limit - 1].uuid
        return response

    async def update(self, scope: RequestScope, request: Request) -> Response:
        """Change a mapping; it goes on from where it is."""
        context = scope.context
        check_options(request, files_allowed=self._files_allowed)
        before = await self._mapping(scope, request["UUID"])
        _check_free(before, "update")
        function = before.function
        if "FunctionName" in request:
            function = await self._function(scope, request["FunctionName"])
        now = context.clock.now()
        settled_at = now + context.catalog.delays.update_seconds

        def edit(mapping: MappingRecord) -> MappingRecord:
            after = apply_options(mapping, request)
            after.function = function
            after.modified_at = now
            after.settled_at = settled_at
            after.passing_state = "Updating"
            if after.is_enabled != mapping.is_enabled:
                after.passing_state = "Enabling" if after.is_enabled else "Disabling"
            return after

        after = await self._store.update(before.uuid, edit)
        if after is None:
            raise _not_found()
        if isinstance(after, str):
            raise _conflict(before.stream_arn, function, after)
        return describe(after, after.passing_state, await self._store.result(after.uuid))

    async def delete(self, scope: RequestScope, request: Request) -> Response:
        """Part a stream from a function."""
        mapping = await self._mapping(scope, request["UUID"])
        _check_free(mapping, "delete")
        result = await self._store.result(mapping.uuid)
        if await self._store.delete(mapping.uuid) is None:
            raise _not_found()
        return describe(mapping, "Deleting", result)

    async def _mapping(self, scope: RequestScope, uuid: str) -> MappingRecord:
        context = scope.context
        mapping = await self._store.mapping(uuid)
        world = (context.account, context.region)
        if mapping is None or (mapping.account, mapping.region) != world:
            raise _not_found()
        scope.touch(mapping.arn)
        return mapping

    async def _function(self, scope: RequestScope, given: str) -> str:
        name = function_name(given)
        world = (scope.context.account, scope.context.region)
        if name is None or await self._store.function(world, name) is None:
            raise InvalidParameterValueException("Function does not exist")
        scope.touch(function_arn(world, name))
        return name


def _check_free(mapping: MappingRecord, verb: str) -> None:
    if mapping.is_configured:
        raise ResourceInUseException(
            f"Cannot {verb} the event source mapping because it is in use by the settings of "
            "the server; change it there."
        )


def _not_found() -> ResourceNotFoundException:
    return ResourceNotFoundException("The resource you requested does not exist.")


def _conflict(arn: str, function: str, uuid: str) -> ResourceConflictException:
    return ResourceConflictException(
        f'The event source arn (" {arn} ") and function (" {function} ") provided mapping already '
        f"exists. Please update or delete the existing mapping with UUID {uuid}"
    )
