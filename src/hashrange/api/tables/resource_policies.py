"""PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy."""

from __future__ import annotations

import re
from typing import Final, final

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.policy_checks import check_own_access, make_policy
from hashrange.errors import (
    AccessDeniedException,
    PolicyNotFoundException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.records import ResourcePolicy, TableRecord
from hashrange.policies.documents import Kind, compile_policy
from hashrange.storage.catalog import Edit

_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([^:/]+):([^:/]+):table/([^:/]+)(?:/stream/([^/]+))?"
)
_NO_POLICY: Final = "NO_POLICY"


@final
class _Resource:
    """A table or one of its streams, by ARN."""

    __slots__ = ("account", "arn", "label", "name")

    def __init__(self, scope: RequestScope, arn: str) -> None:
        match = _ARN.fullmatch(arn)
        if match is None:
            raise ValidationException(f"Invalid ResourceArn: {arn}")
        region, self.account, self.name, label = match.groups()
        self.label: str | None = label
        if region != scope.region:
            raise ResourceNotFoundException(f"Requested resource not found: {arn}")
        if self.account != scope.account and not scope.context.catalog.is_shared:
            raise AccessDeniedException(
                f"User: {scope.caller.arn} is not authorized to perform: "
                f"dynamodb:{scope.operation} on resource: {arn}"
            )
        self.arn = f"arn:aws:dynamodb:{region}:{self.account}:table/{self.name}"
        if label is not None:
            self.arn += f"/stream/{label}"
        scope.touch(self.arn)

    def find(self, record: TableRecord | None) -> ResourcePolicy | None:
        """Return the policy of the resource in a record; raise if the resource is not there."""
        if record is None or not self._is_in(record):
            raise ResourceNotFoundException(f"Requested resource not found: {self.arn}")
        return record.policy if self.label is None else record.stream_policies.get(self.label)

    def _is_in(self, record: TableRecord) -> bool:
        if self.label is None:
            return record.gone_at is None
        stream = record.stream
        return self.label in record.stream_policies or (
            stream is not None and stream.label == self.label
        )

    def set(self, record: TableRecord, policy: ResourcePolicy | None) -> None:
        """Put a policy into a record, or take it away."""
        if self.label is None:
            record.policy = policy
        elif policy is None:
            record.stream_policies.pop(self.label, None)
        else:
            record.stream_policies[self.label] = policy


def _check_revision(expected: str | None, current: ResourcePolicy | None) -> None:
    """Refuse a change that expects another revision than there is."""
    revision = _NO_POLICY if current is None else current.revision
    if expected is not None and expected != revision:
        raise PolicyNotFoundException(
            "Resource-based policy not found for the provided ResourceArn: "
            f"the expected revision id is {expected}"
        )


async def put_resource_policy(scope: RequestScope, request: Request) -> Response:
    """Set the policy of a table or stream; an equivalent document keeps its revision."""
    resource = _Resource(scope, request["ResourceArn"])
    policy = make_policy(resource.arn, request["Policy"], scope.clock.now())
    if not request.get("ConfirmRemoveSelfResourceAccess"):
        check_own_access(scope, resource.arn, compile_policy(policy.document, Kind.RESOURCE))

    def put(record: TableRecord | None) -> Edit:
        current = resource.find(record)
        assert record is not None
        _check_revision(request.get("ExpectedRevisionId"), current)
        if current is not None and current.document == policy.document:
            return Edit(record, is_seen_by_requests=False, outcome=current.revision)
        changed = policy
        if current is not None and int(current.revision) >= int(policy.revision):
            changed = ResourcePolicy(policy.document, str(int(current.revision) + 1))
        resource.set(record, changed)
        return Edit(record, outcome=changed.revision)

    catalog = scope.context.catalog
    revision = await catalog.change(resource.account, scope.region, resource.name, put)
    return {"RevisionId": revision}


async def get_resource_policy(scope: RequestScope, request: Request) -> Response:
    """Return the policy of a table or stream."""
    resource = _Resource(scope, request["ResourceArn"])
    catalog = scope.context.catalog
    record = await catalog.find(resource.account, scope.region, resource.name)
    policy = resource.find(record)
    if policy is None:
        raise PolicyNotFoundException(
            f"Resource-based policy not found for the provided ResourceArn: {resource.arn}"
        )
    return {"Policy": policy.document, "RevisionId": policy.revision}


async def delete_resource_policy(scope: RequestScope, request: Request) -> Response:
    """Take the policy of a table or stream away; none is fine, too."""
    resource = _Resource(scope, request["ResourceArn"])

    def delete(record: TableRecord | None) -> Edit:
        current = resource.find(record)
        assert record is not None
        _check_revision(request.get("ExpectedRevisionId"), current)
        resource.set(record, None)
        revision = None if current is None else current.revision
        return Edit(record, is_seen_by_requests=current is not None, outcome=revision)

    catalog = scope.context.catalog
    revision = await catalog.change(resource.account, scope.region, resource.name, delete)
    return {} if revision is None else {"RevisionId": revision}
