"""Topics and their subscriptions; publishing makes a parcel for each subscription.

topic         := JSON {Arn, Attributes, Tags, CreatedAt}
                                        under "topic" account region name
subscription  := JSON {Arn, TopicArn, Protocol, Endpoint, Owner, Attributes, Token, IsConfirmed}
                                        under "subscription" account region topic-name id
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final, final
from urllib.parse import urlencode

from hashrange.alarms.documents import Document, Documents, Key, document_key, prefix_of
from hashrange.alarms.filters import matches
from hashrange.alarms.outbox import function_parcel, http_parcel, message_id, parcel_key
from hashrange.alarms.store import World
from hashrange.clock import Clock

TOPICS: Final = "topic"
SUBSCRIPTIONS: Final = "subscription"
HTTP: Final = ("http", "https")
FUNCTION: Final = "lambda"


def topic_arn(world: World, name: str) -> str:
    """Return the ARN of a topic."""
    return f"arn:aws:sns:{world[1]}:{world[0]}:{name}"


def split_topic(arn: str) -> tuple[World, str] | None:
    """Return account, region and name of a topic, None if the ARN is not one of a topic."""
    parts = arn.split(":")
    if len(parts) != 6 or parts[:3] != ["arn", "aws", "sns"] or not parts[5]:
        return None
    return (parts[4], parts[3]), parts[5]


def split_subscription(arn: str) -> tuple[World, str, str] | None:
    """Return account, region, topic name and id of a subscription, None if it is not one."""
    topic, _, id = arn.rpartition(":")
    found = split_topic(topic)
    return None if found is None else (*found, id)


@final
class Message:
    """A message to a topic; `by_protocol` are texts for some protocols."""

    def __init__(
        self,
        text: str,
        subject: str | None = None,
        attributes: dict[str, dict[str, Any]] | None = None,
        by_protocol: dict[str, str] | None = None,
    ) -> None:
        self.text = text
        self.subject = subject
        self.attributes = attributes or {}
        self._by_protocol = by_protocol or {}

    def for_protocol(self, protocol: str) -> str:
        return self._by_protocol.get(protocol, self.text)


@final
class TopicStore:
    """The topics of all accounts; `address` is where this server is reached, for confirmations."""

    def __init__(self, documents: Documents, clock: Clock, address: str = "") -> None:
        self.documents = documents
        self._clock = clock
        self._address = address

    def _link(self, world: World, query: str) -> str:
        """Return a URL of this server that does something; it is signed as an open server asks."""
        stamp = f"{datetime.fromtimestamp(self._clock.now(), UTC):%Y%m%dT%H%M%SZ}"
        scope = f"{world[0]}/{stamp[:8]}/{world[1]}/sns/aws4_request"
        signing = urlencode(
            {
                "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                "X-Amz-Credential": scope,
                "X-Amz-Date": stamp,
                "X-Amz-Expires": "604800",
                "X-Amz-SignedHeaders": "host",
                "X-Amz-Signature": "0" * 64,
            }
        )
        return f"http://{self._address}/?{query}&{signing}"

    async def topic(self, arn: str) -> Document | None:
        """Return a topic, None if there is none."""
        found = split_topic(arn)
        if found is None:
            return None
        world, name = found
        return await self.documents.get(document_key(TOPICS, *world, name))

    async def subscriptions(self, world: World, topic: str | None = None) -> list[Document]:
        """Return the subscriptions of a topic, or of all topics of a region."""
        parts = (SUBSCRIPTIONS, *world) if topic is None else (SUBSCRIPTIONS, *world, topic)
        return [row for _, row in await self.documents.list(prefix_of(*parts))]

    async def publish(self, arn: str, message: Message, identity: str) -> str | None:
        """Send a message to the subscribers of a topic; return its id, None without a topic.

        `identity` makes the message the same one if it is published again.
        """
        found = split_topic(arn)
        if found is None or await self.topic(arn) is None:
            return None
        world, name = found
        id, now = message_id(arn, identity), self._clock.now()
        parcels: dict[Key, Document | None] = {}
        for subscription in await self.subscriptions(world, name):
            if subscription["IsConfirmed"] and _wants(subscription, message):
                parcel = self._parcel(world, subscription, message, id, now)
                parcels[parcel_key(now, id + subscription["Arn"])] = parcel
        if parcels:
            await self.documents.change(list(parcels), lambda _: parcels)
        return id

    def confirmation(self, subscription: Document, now: float) -> Document:
        """Return the parcel that asks an endpoint to confirm its subscription."""
        arn, token = subscription["TopicArn"], subscription["Token"]
        id = message_id(subscription["Arn"], token)
        query = f"Action=ConfirmSubscription&Version=2010-03-31&TopicArn={arn}&Token={token}"
        body = {
            "Type": "SubscriptionConfirmation",
            "MessageId": id,
            "Token": token,
            "TopicArn": arn,
            "Message": f"You have chosen to subscribe to the topic {arn}.\nTo confirm the "
            "subscription, visit the SubscribeURL included in this message.",
            "SubscribeURL": self._link(_world_of(arn), query),
            "Timestamp": _time(now),
        }
        headers = _headers("SubscriptionConfirmation", id, arn)
        return http_parcel(subscription["Endpoint"], json.dumps(body), headers, now)

    def _parcel(
        self, world: World, subscription: Document, message: Message, id: str, now: float
    ) -> Document:
        protocol, endpoint = subscription["Protocol"], subscription["Endpoint"]
        text = message.for_protocol(protocol)
        topic = subscription["TopicArn"]
        body: dict[str, Any] = {
            "Type": "Notification",
            "MessageId": id,
            "TopicArn": topic,
            "Subject": message.subject,
            "Message": text,
            "Timestamp": _time(now),
        }
        if message.attributes:
            body["MessageAttributes"] = {
                name: {"Type": value["DataType"], "Value": value.get("StringValue", "")}
                for name, value in message.attributes.items()
            }
        if protocol == FUNCTION:
            body.setdefault("MessageAttributes", {})
            record = {
                "EventSource": "aws:sns",
                "EventVersion": "1.0",
                "EventSubscriptionArn": subscription["Arn"],
                "Sns": body,
            }
            name = endpoint.split(":function:")[-1].split(":")[0]
            return function_parcel(world, name, {"Records": [record]}, now)
        if message.subject is None:
            del body["Subject"]
        headers = _headers("Notification", id, topic)
        headers["x-amz-sns-subscription-arn"] = subscription["Arn"]
        if subscription["Attributes"].get("RawMessageDelivery") == "true":
            headers["x-amz-sns-rawdelivery"] = "true"
            return http_parcel(endpoint, text, headers, now)
        query = f"Action=Unsubscribe&Version=2010-03-31&SubscriptionArn={subscription['Arn']}"
        body["UnsubscribeURL"] = self._link(world, query)
        return http_parcel(endpoint, json.dumps(body), headers, now)


def _wants(subscription: Document, message: Message) -> bool:
    policy = subscription["Attributes"].get("FilterPolicy")
    if not policy:
        return True
    scope = subscription["Attributes"].get("FilterPolicyScope", "MessageAttributes")
    return matches(json.loads(policy), scope, message.text, message.attributes)


def _world_of(arn: str) -> World:
    found = split_topic(arn)
    assert found is not None, "subscriptions are made of topics"
    return found[0]


def _headers(type: str, id: str, topic: str) -> dict[str, str]:
    return {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": type,
        "x-amz-sns-message-id": id,
        "x-amz-sns-topic-arn": topic,
    }


def _time(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
