"""The operations of SNS on topics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, final

from hashrange.alarms.documents import Document, Key, document_key, prefix_of
from hashrange.alarms.topics import SUBSCRIPTIONS, TOPICS, TopicStore, split_topic, topic_arn
from hashrange.neighbours.service import Handler, Parameters, Result, Scope
from hashrange.neighbours.sns.answers import invalid_parameter, no_topic, paged

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
# Kept and shown; nothing else is known to follow from them here.
_ATTRIBUTES: Final = frozenset({"DisplayName"})


@final
class Topics:
    """Topics and their attributes and tags."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store

    async def create_topic(self, scope: Scope, parameters: Parameters) -> Result:
        """Create a topic, or return the one that there is."""
        name, world = parameters["Name"], (scope.account, scope.region)
        if _NAME.fullmatch(name) is None:
            raise invalid_parameter("Topic Name")
        attributes = parameters.get("Attributes") or {}
        _check_attributes(attributes)
        arn, key = topic_arn(world, name), document_key(TOPICS, *world, name)
        topic = {
            "Arn": arn,
            "Attributes": attributes,
            "Tags": parameters.get("Tags") or [],
            "CreatedAt": scope.clock.now(),
        }
        await self._store.documents.change([key], lambda rows: {key: rows[key] or topic})
        return {"TopicArn": arn}

    async def delete_topic(self, scope: Scope, parameters: Parameters) -> Result:
        """Delete a topic and its subscriptions; one that is gone is no error."""
        found = split_topic(parameters["TopicArn"])
        if found is None:
            raise invalid_parameter("TopicArn")
        world, name = found
        rows = await self._store.documents.list(prefix_of(SUBSCRIPTIONS, *world, name))
        await self._store.documents.delete(
            [document_key(TOPICS, *world, name), *(key for key, _ in rows)]
        )
        return {}

    async def list_topics(self, scope: Scope, parameters: Parameters) -> Result:
        rows = await self._store.documents.list(prefix_of(TOPICS, scope.account, scope.region))
        return paged([{"TopicArn": topic["Arn"]} for _, topic in rows], parameters, "Topics")

    async def get_attributes(self, scope: Scope, parameters: Parameters) -> Result:
        topic = await self._find(parameters["TopicArn"])
        world, name = split_topic(topic["Arn"]) or (("", ""), "")
        subscriptions = await self._store.subscriptions(world, name)
        confirmed = sum(subscription["IsConfirmed"] for subscription in subscriptions)
        attributes = {
            "TopicArn": topic["Arn"],
            "Owner": world[0],
            "DisplayName": "",
            "SubscriptionsConfirmed": str(confirmed),
            "SubscriptionsPending": str(len(subscriptions) - confirmed),
            "SubscriptionsDeleted": "0",
            "EffectiveDeliveryPolicy": json.dumps(
                {"http": {"defaultHealthyRetryPolicy": {"numRetries": 3, "minDelayTarget": 20}}}
            ),
            **topic["Attributes"],
        }
        return {"Attributes": attributes}

    async def set_attributes(self, scope: Scope, parameters: Parameters) -> Result:
        name, value = parameters["AttributeName"], parameters.get("AttributeValue", "")
        _check_attributes({name: value})
        await self._edit(
            parameters["TopicArn"], lambda topic: topic["Attributes"].update({name: value})
        )
        return {}

    async def tag_resource(self, scope: Scope, parameters: Parameters) -> Result:
        added = {tag["Key"]: tag["Value"] for tag in parameters["Tags"]}

        def change(topic: Document) -> None:
            tags = {tag["Key"]: tag["Value"] for tag in topic["Tags"]} | added
            topic["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]

        await self._edit(parameters["ResourceArn"], change)
        return {}

    async def untag_resource(self, scope: Scope, parameters: Parameters) -> Result:
        def change(topic: Document) -> None:
            topic["Tags"] = [
                tag for tag in topic["Tags"] if tag["Key"] not in parameters["TagKeys"]
            ]

        await self._edit(parameters["ResourceArn"], change)
        return {}

    async def list_tags(self, scope: Scope, parameters: Parameters) -> Result:
        return {"Tags": (await self._find(parameters["ResourceArn"]))["Tags"]}

    async def _find(self, arn: str) -> Document:
        topic = await self._store.topic(arn)
        if topic is None:
            raise no_topic()
        return topic

    async def _edit(self, arn: str, change: Callable[[Document], None]) -> None:
        found = split_topic(arn)
        if found is None:
            raise invalid_parameter("TopicArn")
        key = document_key(TOPICS, *found[0], found[1])

        def edit(rows: dict[Key, Document | None]) -> dict[Key, Document | None]:
            topic = rows[key]
            if topic is None:
                raise no_topic()
            change(topic)
            return {key: topic}

        await self._store.documents.change([key], edit)

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreateTopic": self.create_topic,
            "DeleteTopic": self.delete_topic,
            "GetTopicAttributes": self.get_attributes,
            "ListTagsForResource": self.list_tags,
            "ListTopics": self.list_topics,
            "SetTopicAttributes": self.set_attributes,
            "TagResource": self.tag_resource,
            "UntagResource": self.untag_resource,
        }


def _check_attributes(attributes: dict[str, str]) -> None:
    for name in attributes:
        if name not in _ATTRIBUTES:
            raise invalid_parameter(f"AttributeName: {name} is not supported")
