"""TagResource, UntagResource and ListTagsOfResource."""

from __future__ import annotations

import re
from typing import Final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.tag_rules import check_characters, check_tags
from hashrange.errors import (
    AccessDeniedException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.records import TableRecord
from hashrange.storage.catalog import Edit

_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([a-zA-Z0-9_.-]{3,255})"
)
_PAGE_TAGS_MAX: Final = 10
_RESOURCE_CHARACTERS_MAX: Final = 1283


async def tag_resource(scope: RequestScope, request: Request) -> Response:
    """Add tags to a table, or change their values."""
    context = scope.context
    arn = _resource(request)
    tags = request.get("Tags")
    if tags is None:
        raise _must_not_be_null("tags")
    name = _table_name(context, arn, "TagResource")
    scope.touch(arn)
    if not tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")

    def add(record: TableRecord | None) -> Edit:
        if record is None:
            raise _not_found(arn)
        record.tags = check_tags(tags, record.tags)
        return Edit(record)

    await context.catalog.change(context.account, context.region, name, add)
    return {}


async def untag_resource(scope: RequestScope, request: Request) -> Response:
    """Take tags away from a table."""
    context = scope.context
    arn = _resource(request)
    keys = request.get("TagKeys")
    if keys is None:
        raise _must_not_be_null("tagKeys")
    name = _table_name(context, arn, "UntagResource")
    scope.touch(arn)
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    check_characters(keys)

    def remove(record: TableRecord | None) -> Edit:
        if record is None:
            raise ResourceNotFoundException("Requested resource not found")
        record.tags = {key: value for key, value in record.tags.items() if key not in keys}
        return Edit(record)

    await context.catalog.change(context.account, context.region, name, remove)
    return {}


async def list_tags_of_resource(scope: RequestScope, request: Request) -> Response:
    """List a page of a table's tags."""
    context = scope.context
    arn = _resource(request)
    name = _table_name(context, arn, "ListTagsOfResource")
    scope.touch(arn)
    record = await context.catalog.find(context.account, context.region, name)
    if record is None:
        raise _not_found(arn)
    keys = list(record.tags)
    start = 0
    token = request.get("NextToken")
    if token is not None:
        if token not in record.tags:
            raise ValidationException(f"Invalid NextToken: {token}")
        start = keys.index(token) + 1
    page = keys[start : start + _PAGE_TAGS_MAX]
    response: Response = {"Tags": [{"Key": key, "Value": record.tags[key]} for key in page]}
    if start + _PAGE_TAGS_MAX < len(keys):
        response["NextToken"] = page[-1]
    return response


def _resource(request: Request) -> str:
    arn = request.get("ResourceArn")
    if arn is None:
        raise ValidationException("Invalid TableArn")
    if not 1 <= len(arn) <= _RESOURCE_CHARACTERS_MAX:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    return str(arn)


def _table_name(context: Context, arn: str, operation: str) -> str:
    """Return the name of a table of this account and region."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    region, account, name = match.groups()
    if account != context.account or region != context.region:
        raise AccessDeniedException(
            f"User: arn:aws:iam::{context.account}:root is not authorized to perform: "
            f"dynamodb:{operation} on resource: {arn}"
        )
    return name


def _must_not_be_null(member: str) -> ValidationException:
    return ValidationException(
        f"1 validation error detected: Value null at '{member}' failed to satisfy constraint: "
        "Member must not be null"
    )


def _not_found(arn: str) -> ResourceNotFoundException:
    # The missing letter is AWS's.
    return ResourceNotFoundException(f"Requested resource not found: ResourcArn: {arn} not found")
