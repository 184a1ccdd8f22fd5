"""Publish and PublishBatch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, final

from hashrange.alarms.topics import Message, TopicStore
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.neighbours.sns.answers import invalid_parameter, no_topic

_MESSAGE_BYTES_MAX: Final = 262_144
_SUBJECT_CHARACTERS_MAX: Final = 100
_BATCH_MAX: Final = 10


@final
class Publishing:
    """Messages to topics."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store

    async def publish(self, scope: Scope, parameters: Parameters) -> Result:
        """Send a message to the subscribers of a topic; it is on its way when this returns."""
        arn = parameters.get("TopicArn")
        if arn is None:
            raise invalid_parameter("TopicArn or TargetArn Reason: no value for required parameter")
        return {"MessageId": await self._send(arn, parameters, scope.request_id)}

    async def publish_batch(self, scope: Scope, parameters: Parameters) -> Result:
        """Send up to ten messages, each by itself."""
        entries = parameters["PublishBatchRequestEntries"]
        if not entries:
            raise ServiceError("EmptyBatchRequestException", "The batch request is empty.")
        if len(entries) > _BATCH_MAX:
            raise ServiceError("TooManyEntriesInBatchRequestException", "The batch is too large.")
        if len({entry["Id"] for entry in entries}) < len(entries):
            raise ServiceError("BatchEntryIdsNotDistinctException", "Two entries have the same Id.")
        answer: Result = {"Successful": [], "Failed": []}
        for entry in entries:
            id = entry["Id"]
            try:
                sent = await self._send(parameters["TopicArn"], entry, scope.request_id + id)
                answer["Successful"].append({"Id": id, "MessageId": sent})
            except ServiceError as error:
                if error.code != "InvalidParameterException":
                    raise
                failure = {"Id": id, "Code": "InvalidParameter", "Message": error.message}
                answer["Failed"].append({**failure, "SenderFault": True})
        return answer

    async def _send(self, arn: str, parameters: Parameters, identity: str) -> str:
        id = await self._store.publish(arn, _message(parameters), identity)
        if id is None:
            raise no_topic()
        return id

    def operations(self) -> Mapping[str, Handler]:
        return {"Publish": self.publish, "PublishBatch": self.publish_batch}


def _message(parameters: Parameters) -> Message:
    text, subject = parameters["Message"], parameters.get("Subject")
    if not text:
        raise invalid_parameter("Empty message")
    if len(text.encode()) > _MESSAGE_BYTES_MAX:
        raise invalid_parameter("Message too long")
    if subject is not None and not 0 < len(subject) <= _SUBJECT_CHARACTERS_MAX:
        raise invalid_parameter("Subject")
    for name in ("MessageDeduplicationId", "MessageGroupId"):
        if name in parameters:
            raise invalid_parameter(
                f"{name} Reason: The request includes {name} parameter that "
                "is not valid for this topic type"
            )
    attributes = parameters.get("MessageAttributes") or {}
    for name, value in attributes.items():
        if "StringValue" not in value:
            raise invalid_parameter(f"The message attribute '{name}' must have a StringValue")
    if parameters.get("MessageStructure") is None:
        return Message(text, subject, attributes)
    if parameters["MessageStructure"] != "json":
        raise invalid_parameter("MessageStructure")
    try:
        texts = json.loads(text)
        default = texts["default"]
    except (ValueError, KeyError, TypeError):
        raise invalid_parameter(
            "Message Structure - No default entry in JSON message body"
        ) from None
    return Message(default, subject, attributes, texts)
