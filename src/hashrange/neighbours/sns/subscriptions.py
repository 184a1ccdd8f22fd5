"""The operations of SNS on subscriptions."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping
from typing import Final, final

from hashrange.alarms.documents import Document, Key, document_key
from hashrange.alarms.filters import FilterError, check_policy
from hashrange.alarms.outbox import parcel_key
from hashrange.alarms.topics import (
    FUNCTION,
    HTTP,
    SUBSCRIPTIONS,
    TopicStore,
    split_subscription,
    split_topic,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.neighbours.sns.answers import invalid_parameter, no_subscription, no_topic, paged

_PENDING: Final = "pending confirmation"
_PENDING_SHOWN: Final = "PendingConfirmation"
_ATTRIBUTES: Final = frozenset({"RawMessageDelivery", "FilterPolicy", "FilterPolicyScope"})


@final
class Subscriptions:
    """Subscriptions: those of HTTP endpoints are confirmed by the endpoint."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store

    async def subscribe(self, scope: Scope, parameters: Parameters) -> Result:
        """Subscribe an endpoint to a topic; the same endpoint twice is the same subscription."""
        arn, protocol = parameters["TopicArn"], parameters["Protocol"]
        endpoint = parameters.get("Endpoint", "")
        found = split_topic(arn)
        if found is None or await self._store.topic(arn) is None:
            raise no_topic()
        _check_endpoint(protocol, endpoint)
        attributes = parameters.get("Attributes") or {}
        _check_attributes(attributes)
        world, topic = found
        for known in await self._store.subscriptions(world, topic):
            if (known["Protocol"], known["Endpoint"]) == (protocol, endpoint):
                return {"SubscriptionArn": _shown(known, parameters)}
        id = str(uuid.uuid4())
        subscription = {
            "Arn": f"{arn}:{id}",
            "TopicArn": arn,
            "Protocol": protocol,
            "Endpoint": endpoint,
            "Owner": scope.account,
            "Attributes": attributes,
            "Token": secrets.token_hex(32),
            "IsConfirmed": protocol == FUNCTION,
        }
        changes: dict[Key, Document | None] = {
            document_key(SUBSCRIPTIONS, *world, topic, id): subscription
        }
        if protocol != FUNCTION:
            now = scope.clock.now()
            changes[parcel_key(now, id)] = self._store.confirmation(subscription, now)
        await self._store.documents.change(list(changes), lambda _: changes)
        return {"SubscriptionArn": _shown(subscription, parameters)}

    async def confirm(self, scope: Scope, parameters: Parameters) -> Result:
        """Confirm a subscription with the token that its endpoint was sent."""
        found = split_topic(parameters["TopicArn"])
        if found is None:
            raise invalid_parameter("TopicArn")
        for known in await self._store.subscriptions(*found):
            if secrets.compare_digest(known["Token"], parameters["Token"]):

                def change(subscription: Document) -> None:
                    subscription["IsConfirmed"] = True

                await self._edit(known["Arn"], change)
                return {"SubscriptionArn": known["Arn"]}
        raise invalid_parameter("Token")

    async def unsubscribe(self, scope: Scope, parameters: Parameters) -> Result:
        found = split_subscription(parameters["SubscriptionArn"])
        if found is None:
            raise invalid_parameter("SubscriptionArn")
        world, topic, id = found
        await self._store.documents.delete([document_key(SUBSCRIPTIONS, *world, topic, id)])
        return {}

    async def get_attributes(self, scope: Scope, parameters: Parameters) -> Result:
        found = split_subscription(parameters["SubscriptionArn"])
        row = None
        if found is not None:
            world, topic, id = found
            row = await self._store.documents.get(document_key(SUBSCRIPTIONS, *world, topic, id))
        if row is None:
            raise no_subscription()
        attributes = {
            "SubscriptionArn": row["Arn"],
            "TopicArn": row["TopicArn"],
            "Protocol": row["Protocol"],
            "Endpoint": row["Endpoint"],
            "Owner": row["Owner"],
            "PendingConfirmation": "false" if row["IsConfirmed"] else "true",
            "ConfirmationWasAuthenticated": "false",
            "RawMessageDelivery": "false",
            **row["Attributes"],
        }
        return {"Attributes": attributes}

    async def set_attributes(self, scope: Scope, parameters: Parameters) -> Result:
        name, value = parameters["AttributeName"], parameters.get("AttributeValue", "")
        _check_attributes({name: value})

        def change(subscription: Document) -> None:
            subscription["Attributes"][name] = value

        await self._edit(parameters["SubscriptionArn"], change)
        return {}

    async def list_all(self, scope: Scope, parameters: Parameters) -> Result:
        found = await self._store.subscriptions((scope.account, scope.region))
        return paged([_show(row) for row in found], parameters, "Subscriptions")

    async def list_of_topic(self, scope: Scope, parameters: Parameters) -> Result:
        found = split_topic(parameters["TopicArn"])
        if found is None or await self._store.topic(parameters["TopicArn"]) is None:
            raise no_topic()
        rows = await self._store.subscriptions(*found)
        return paged([_show(row) for row in rows], parameters, "Subscriptions")

    async def _edit(self, arn: str, change: Callable[[Document], None]) -> None:
        found = split_subscription(arn)
        if found is None:
            raise no_subscription()
        world, topic, id = found
        key = document_key(SUBSCRIPTIONS, *world, topic, id)

        def edit(rows: dict[Key, Document | None]) -> dict[Key, Document | None]:
            row = rows[key]
            if row is None:
                raise no_subscription()
            change(row)
            return {key: row}

        await self._store.documents.change([key], edit)

    def operations(self) -> Mapping[str, Handler]:
        return {
            "ConfirmSubscription": self.confirm,
            "GetSubscriptionAttributes": self.get_attributes,
            "ListSubscriptions": self.list_all,
            "ListSubscriptionsByTopic": self.list_of_topic,
            "SetSubscriptionAttributes": self.set_attributes,
            "Subscribe": self.subscribe,
            "Unsubscribe": self.unsubscribe,
        }


def _shown(subscription: Document, parameters: Parameters) -> str:
    is_shown = subscription["IsConfirmed"] or parameters.get("ReturnSubscriptionArn")
    arn: str = subscription["Arn"]
    return arn if is_shown else _PENDING


def _show(subscription: Document) -> Result:
    members = ("Owner", "Protocol", "Endpoint", "TopicArn")
    arn = subscription["Arn"] if subscription["IsConfirmed"] else _PENDING_SHOWN
    return {"SubscriptionArn": arn, **{name: subscription[name] for name in members}}


def _check_endpoint(protocol: str, endpoint: str) -> None:
    if protocol in HTTP:
        if not endpoint.startswith(f"{protocol}://"):
            raise invalid_parameter("Endpoint must match the specified protocol")
    elif protocol == FUNCTION:
        if not endpoint.startswith("arn:aws:lambda:") or ":function:" not in endpoint:
            raise invalid_parameter("Lambda endpoint ARN")
    else:
        raise ServiceError(
            "InvalidParameterException",
            f"Invalid parameter: Protocol {protocol} is not supported: use http, https or lambda",
        )


def _check_attributes(attributes: dict[str, str]) -> None:
    for name, value in attributes.items():
        if name not in _ATTRIBUTES:
            raise invalid_parameter(f"AttributeName: {name} is not supported")
        if name == "FilterPolicy" and value:
            try:
                check_policy(value)
            except FilterError as error:
                raise invalid_parameter(f"FilterPolicy: {error}") from error
        if name == "RawMessageDelivery" and value not in ("true", "false"):
            raise invalid_parameter("Attributes Reason: RawMessageDelivery: not a boolean")
        if name == "FilterPolicyScope" and value not in ("MessageAttributes", "MessageBody"):
            raise invalid_parameter("Attributes Reason: FilterPolicyScope: invalid value")
