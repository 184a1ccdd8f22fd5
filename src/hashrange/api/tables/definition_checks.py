"""Checks of table and index definitions, in AWS's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hashrange.errors import (
    ResourceInUseException,
    ValidationException,
)
from hashrange.limits import (
    GLOBAL_INDEXES_MAX,
    INDEX_PARTITION_ATTRIBUTES_MAX,
    INDEX_SORT_ATTRIBUTES_MAX,
    LOCAL_INDEXES_MAX,
    PROJECTED_ATTRIBUTES_MAX,
    TABLE_CAPACITY_UNITS_MAX,
)
from hashrange.model.records import TableRecord

INVALID: Final = "One or more parameter values were invalid: "

_UNITS_BOUND: Final = 1_000_000_000_000
_NOT_OFFERED: Final = {
    "ReplicaUpdates": "Replicas are",
    "GlobalTableWitnessUpdates": "Replicas are",
    "MultiRegionConsistency": "Replicas are",
    "GlobalTableSourceArn": "Replicas are",
    "GlobalTableSettingsReplicationMode": "Replicas are",
    "DisassociationProtectionEnabled": "Replicas are",
    "VectorIndexes": "Vector indexes are",
    "VectorIndexUpdates": "Vector indexes are",
}


def check_changeable(record: TableRecord, now: float) -> None:
    """Refuse to change a table that is still in an earlier change."""
    being = {"CREATING": "created", "UPDATING": "updated", "DELETING": "deleted"}
    status = record.status(now)
    if status != "ACTIVE":
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: "
            f"Table is being {being[status]}: {record.name}"
        )


def check_offered(request: dict[str, Any]) -> None:
    """Refuse settings that would have no effect here."""
    for name, subject in _NOT_OFFERED.items():
        if request.get(name):
            raise ValidationException(f"{INVALID}{subject} not supported by this server: {name}")


def check_throughput(throughput: dict[str, int] | None) -> None:
    """Check the size of provisioned capacity."""
    if throughput is None:
        return
    for name in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput[name] > _UNITS_BOUND:
            raise ValidationException(f"Given value {throughput[name]} for {name} is out of bounds")


def check_table_limit(throughput: dict[str, int] | None) -> None:
    """Check provisioned capacity against what a table may have."""
    if throughput is not None and max(throughput.values()) > TABLE_CAPACITY_UNITS_MAX:
        raise ValidationException(
            "Cannot increase provisioned throughput to more than "
            f"{TABLE_CAPACITY_UNITS_MAX:,} units per table"
        )


def check_billing(request: dict[str, Any]) -> None:
    """Check that a new table's capacity matches its billing mode."""
    throughput = request.get("ProvisionedThroughput")
    if request.get("BillingMode") == "PAY_PER_REQUEST":
        if throughput is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
                "BillingMode is PAY_PER_REQUEST"
            )
        return
    if throughput is None:
        raise ValidationException(
            f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when "
            "BillingMode is PROVISIONED"
        )
    check_throughput(throughput)
    check_table_limit(throughput)


def check_on_demand(limits: dict[str, int] | None, *, is_on_demand: bool) -> None:
    """Check the upper bounds of on-demand capacity; -1 takes a bound away."""
    if limits is None:
        return
    if not is_on_demand:
        raise ValidationException(
            f"{INVALID}OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST"
        )
    for name, units in limits.items():
        if units != -1 and units < 1:
            raise ValidationException(
                f"{INVALID}{name} must be greater than or equal to 1, or -1 for no maximum"
            )


def check_warm(asked: dict[str, int] | None, current: dict[str, int], *, resource: str) -> None:
    """Check warm throughput, which can only be raised."""
    if asked is None:
        return
    for name, units in asked.items():
        if units < current[name]:
            raise ValidationException(
                f"{INVALID}Requested {name} for WarmThroughput for {resource} is lower than "
                "current WarmThroughput, decreasing WarmThroughput is not supported"
            )


def check_encryption(specification: dict[str, Any] | None) -> None:
    """Check the server-side encryption setting."""
    if specification is None:
        return
    if specification.get("SSEType") == "AES256":
        raise ValidationException(f"{INVALID}SSEType AES256 is currently not supported")
    if "KMSMasterKeyId" in specification and not specification.get("Enabled"):
        raise ValidationException(
            f"{INVALID}KMSMasterKeyId cannot be specified when SSEEnabled is false"
        )


def check_distinct_names(names: Sequence[str]) -> None:
    """Refuse a list of attributes that has one of them twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValidationException(f"Attribute Name is duplicated: {name}")
        seen.add(name)


def check_table_keys(request: dict[str, Any]) -> None:
    """Check a new table's key schema and attribute definitions."""
    schema = request["KeySchema"]
    defined = _defined(request)
    check_distinct_names(defined)
    keys = _key_names(schema)
    if len(keys) > len(defined):
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    _check_defined(keys, defined)
    _check_pair(schema)
    indexed = "LocalSecondaryIndexes" in request or "GlobalSecondaryIndexes" in request
    if not indexed and len(keys) != len(defined):
        raise ValidationException(
            f"{INVALID}Number of attributes in KeySchema does not exactly match number of "
            "attributes defined in AttributeDefinitions"
        )


def check_indexes(request: dict[str, Any]) -> None:
    """Check all indexes of a new table."""
    names: set[str] = set()
    is_on_demand = request.get("BillingMode") == "PAY_PER_REQUEST"
    local = request.get("LocalSecondaryIndexes")
    if local is not None:
        _check_local_indexes(local, request, names)
    indexes = request.get("GlobalSecondaryIndexes")
    if indexes is not None:
        if not indexes:
            raise ValidationException(f"{INVALID}List of GlobalSecondaryIndexes is empty")
        for index in indexes:
            check_global_index(index, _defined(request))
            check_index_billing(index, is_on_demand=is_on_demand)
            _check_new_name(index["IndexName"], names)
        check_index_count(len(indexes))
    everything = [*(local or ()), *(indexes or ())]
    if everything:
        check_projected(everything)
        _check_all_used(request, everything)


def check_index_count(count: int) -> None:
    """Check how many global indexes a table has."""
    if count > GLOBAL_INDEXES_MAX:
        raise ValidationException(
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of "
            f"{GLOBAL_INDEXES_MAX}"
        )


def check_projected(indexes: Sequence[dict[str, Any]]) -> None:
    """Check how many attributes a table's indexes (as on the wire) name in their projections."""
    count = sum(len(index["Projection"].get("NonKeyAttributes", ())) for index in indexes)
    if count > PROJECTED_ATTRIBUTES_MAX:
        raise ValidationException(
            f"{INVALID}Number of NonKeyAttributes across all indexes exceeds the limit of "
            f"{PROJECTED_ATTRIBUTES_MAX}"
        )


def check_global_index(index: dict[str, Any], defined: Sequence[str]) -> None:
    """Check the keys and the projection of a global index."""
    schema = index["KeySchema"]
    _check_defined(_key_names(schema), defined)
    _check_global_keys(schema, index["IndexName"])
    _check_projection(index["Projection"])


def check_index_billing(index: dict[str, Any], *, is_on_demand: bool) -> None:
    """Check that an index's capacity matches its table's billing mode."""
    throughput = index.get("ProvisionedThroughput")
    name = index["IndexName"]
    if is_on_demand and throughput is not None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughput should not be specified for index: {name} when "
            "BillingMode is PAY_PER_REQUEST"
        )
    if not is_on_demand and throughput is None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughput must be specified for index: {name}"
        )
    check_throughput(throughput)
    check_table_limit(throughput)
    check_on_demand(index.get("OnDemandThroughput"), is_on_demand=is_on_demand)


def _check_local_indexes(
    indexes: Sequence[dict[str, Any]], request: dict[str, Any], names: set[str]
) -> None:
    if not indexes:
        raise ValidationException(f"{INVALID}List of LocalSecondaryIndexes is empty")
    if len(request["KeySchema"]) != 2:
        raise ValidationException(
            f"{INVALID}Table KeySchema does not have a range key, which is required when "
            "specifying a LocalSecondaryIndex"
        )
    partition = request["KeySchema"][0]["AttributeName"]
    for index in indexes:
        schema = index["KeySchema"]
        name = index["IndexName"]
        _check_defined(_key_names(schema), _defined(request))
        _check_pair(schema)
        if len(schema) != 2:
            raise ValidationException(
                f"{INVALID}Index KeySchema does not have a range key for index: {name}"
            )
        if schema[0]["AttributeName"] != partition:
            raise ValidationException(
                f"{INVALID}Index KeySchema does not have the same leading hash key as table "
                f"KeySchema for index: {name}. index hash key: {schema[0]['AttributeName']}, "
                f"table hash key: {partition}"
            )
        _check_projection(index["Projection"])
        _check_new_name(name, names)
    if len(indexes) > LOCAL_INDEXES_MAX:
        raise ValidationException(
            f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of "
            f"{LOCAL_INDEXES_MAX}"
        )


def _defined(request: dict[str, Any]) -> list[str]:
    return [definition["AttributeName"] for definition in request.get("AttributeDefinitions", ())]


def _key_names(schema: Sequence[dict[str, str]]) -> list[str]:
    return [element["AttributeName"] for element in schema]


def _check_defined(keys: Sequence[str], defined: Sequence[str]) -> None:
    if not set(keys) <= set(defined):
        raise ValidationException(
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(keys)}], AttributeDefinitions: [{', '.join(defined)}]"
        )


def _check_pair(schema: Sequence[dict[str, str]]) -> None:
    """Check a partition key and perhaps a sort key."""
    names = _key_names(schema)
    if len(set(names)) != len(names):
        raise ValidationException(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        )
    if schema[0]["KeyType"] != "HASH":
        raise ValidationException(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )
    if len(schema) > 1 and schema[1]["KeyType"] != "RANGE":
        raise ValidationException(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
        )


def _check_global_keys(schema: Sequence[dict[str, str]], index: str) -> None:
    """Check up to four partition key attributes, then up to four sort key attributes."""
    names = _key_names(schema)
    if len(set(names)) != len(names):
        raise ValidationException(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        )
    types = [element["KeyType"] for element in schema]
    if types[0] != "HASH":
        raise ValidationException(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )
    partition = types.count("HASH")
    if "RANGE" in types[:partition]:
        raise ValidationException(
            "Invalid KeySchema: All HASH key elements must come before the RANGE key elements "
            f"for index: {index}"
        )
    if partition > INDEX_PARTITION_ATTRIBUTES_MAX:
        raise ValidationException(
            "Too many partition keys. GSI can have at most "
            f"{INDEX_PARTITION_ATTRIBUTES_MAX} partition keys"
        )
    if len(types) - partition > INDEX_SORT_ATTRIBUTES_MAX:
        raise ValidationException(
            f"Too many sort keys. GSI can have at most {INDEX_SORT_ATTRIBUTES_MAX} sort keys"
        )


def _check_projection(projection: dict[str, Any]) -> None:
    kind = projection.get("ProjectionType")
    if kind is None:
        raise ValidationException(f"{INVALID}Unknown ProjectionType: null")
    attributes = projection.get("NonKeyAttributes")
    if attributes is not None:
        check_distinct_names(attributes)
    if kind == "INCLUDE" and attributes is None:
        raise ValidationException(
            f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
        )
    if kind != "INCLUDE" and attributes is not None:
        raise ValidationException(
            f"{INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified"
        )


def _check_new_name(name: str, names: set[str]) -> None:
    if name in names:
        raise ValidationException(f"{INVALID}Duplicate index name: {name}")
    names.add(name)


def _check_all_used(request: dict[str, Any], indexes: Sequence[dict[str, Any]]) -> None:
    defined = _defined(request)
    used = set(_key_names(request["KeySchema"]))
    for index in indexes:
        used.update(_key_names(index["KeySchema"]))
    if len(used) != len(defined):
        keys = [name for name in dict.fromkeys(defined) if name in used]
        raise ValidationException(
            f"{INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: "
            f"[{', '.join(defined)}], keys used: [{', '.join(keys)}]"
        )
