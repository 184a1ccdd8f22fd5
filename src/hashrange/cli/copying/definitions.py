"""Copies the definition of a table: keys, indexes, capacity, stream, tags and time to live.

What names things of another account stays behind: keys of KMS, resource policies, replicas.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from hashrange.cli.copying.places import Place

_POLL_SECONDS: Final = 0.2
_WAIT_SECONDS_MAX: Final = 600.0
_INDEXES: Final = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


class CopyError(Exception):
    """A copy cannot begin or go on; the message says why, for people."""


def creation_of(described: dict[str, Any], table: str) -> dict[str, Any]:
    """Return the CreateTable request of a table like one that was described."""
    summary = described.get("BillingModeSummary", {})
    is_provisioned = summary.get("BillingMode", "PROVISIONED") == "PROVISIONED"
    request: dict[str, Any] = {
        "TableName": table,
        "AttributeDefinitions": described["AttributeDefinitions"],
        "BillingMode": "PROVISIONED" if is_provisioned else "PAY_PER_REQUEST",
        **_keys_and_capacity(described, is_provisioned),
    }
    for kind in _INDEXES:
        if indexes := described.get(kind):
            has_capacity = is_provisioned and kind == "GlobalSecondaryIndexes"
            request[kind] = [_index(index, has_capacity) for index in indexes]
    if described.get("StreamSpecification", {}).get("StreamEnabled"):
        request["StreamSpecification"] = described["StreamSpecification"]
    if table_class := described.get("TableClassSummary", {}).get("TableClass"):
        request["TableClass"] = table_class
    if described.get("DeletionProtectionEnabled"):
        request["DeletionProtectionEnabled"] = True
    return request


def _index(index: dict[str, Any], is_provisioned: bool) -> dict[str, Any]:
    named = {"IndexName": index["IndexName"], "Projection": index["Projection"]}
    return {**named, **_keys_and_capacity(index, is_provisioned)}


def _keys_and_capacity(described: dict[str, Any], is_provisioned: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"KeySchema": described["KeySchema"]}
    if is_provisioned:
        units = described["ProvisionedThroughput"]
        names = ("ReadCapacityUnits", "WriteCapacityUnits")
        found["ProvisionedThroughput"] = {name: units[name] for name in names}
    elif bounds := described.get("OnDemandThroughput"):
        found["OnDemandThroughput"] = bounds
    return found


def create_like(source: Place, described: dict[str, Any], target: Place) -> dict[str, Any]:
    """Create the target like the source; return its description when it can be used."""
    request = creation_of(described, target.table)
    if tags := _tags(source, described["TableArn"]):
        request["Tags"] = tags
    target.client.create_table(**request)
    return wait_until_active(target)


def wait_until_active(place: Place, now: Callable[[], float] = time.monotonic) -> dict[str, Any]:
    """Wait until a table can be used; return its description."""
    deadline = now() + _WAIT_SECONDS_MAX
    while True:
        described = place.describe()
        if described is not None and described["TableStatus"] in ("ACTIVE", "UPDATING"):
            return described
        if now() > deadline:
            raise CopyError(f"{place.name} did not become ACTIVE")
        time.sleep(_POLL_SECONDS)


def check_same_keys(source: dict[str, Any], target: dict[str, Any]) -> None:
    """Raise an error unless two tables have the same primary key."""
    if _key_types(source) != _key_types(target):
        raise CopyError(
            f"the target has another key: {_key_text(target)} instead of {_key_text(source)}"
        )


def key_names(described: dict[str, Any]) -> list[str]:
    """Return the names of a table's key attributes."""
    return [part["AttributeName"] for part in described["KeySchema"]]


def _key_types(described: dict[str, Any]) -> list[tuple[str, str, str]]:
    types = {
        part["AttributeName"]: part["AttributeType"] for part in described["AttributeDefinitions"]
    }
    return [
        (part["AttributeName"], part["KeyType"], types[part["AttributeName"]])
        for part in described["KeySchema"]
    ]


def _key_text(described: dict[str, Any]) -> str:
    return ", ".join(f"{name} ({type})" for name, _, type in _key_types(described))


def _tags(place: Place, arn: str) -> list[dict[str, str]]:
    """Return the tags of a table; none where there are no tags at all, as in DynamoDB Local."""
    from botocore.exceptions import ClientError

    try:
        pages = place.client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
        return [tag for page in pages for tag in _own_tags(page.get("Tags", ()))]
    except ClientError as error:
        if error.response["Error"]["Code"] != "UnknownOperationException":
            raise
        return []


def _own_tags(tags: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    return [tag for tag in tags if not tag["Key"].startswith("aws:")]


def copy_time_to_live(source: Place, target: Place) -> None:
    """Let items of the target expire by the same attribute."""
    name = _expiry_attribute(source)
    if name is None or name == _expiry_attribute(target):
        return
    target.client.update_time_to_live(
        TableName=target.table,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": name},
    )


def _expiry_attribute(place: Place) -> str | None:
    answer = place.client.describe_time_to_live(TableName=place.table)
    described = answer.get("TimeToLiveDescription", {})
    if described.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        return None
    name: str | None = described.get("AttributeName")
    return name
