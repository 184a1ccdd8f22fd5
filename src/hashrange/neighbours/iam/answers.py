"""What the operations of IAM share: errors, pages, names, and how identities are shown."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

from hashrange.identities.records import Identity, Kind
from hashrange.neighbours.service import Parameters, Result, Scope, ServiceError
from hashrange.policies.documents import Kind as PolicyKind
from hashrange.policies.documents import MalformedPolicyError, compile_policy

_PAGE_ITEMS: Final = 100
_NAME: Final = re.compile(r"[\w+=,.@-]+", re.ASCII)
_PATH: Final = re.compile(r"/([!-\x7f]+/)?")
_USER_ARN: Final = re.compile(r"arn:aws:iam::[0-9]{12}:user/(?:[!-~]+/)?([^/]+)")
_TAGS_MAX: Final = 50

_Item = TypeVar("_Item")

TITLES: Final = {"user": "User", "group": "Group", "role": "Role"}


def no_such(kind: str, name: str) -> ServiceError:
    """Return the error about a user, group or role that is not there."""
    return ServiceError("NoSuchEntityException", f"The {kind} with name {name} cannot be found.")


def already_exists(kind: str, name: str) -> ServiceError:
    """Return the error about a name that is taken."""
    return ServiceError(
        "EntityAlreadyExistsException", f"{TITLES[kind]} with name {name} already exists."
    )


def delete_conflict(what: str) -> ServiceError:
    """Return the error about something that must be gone first."""
    return ServiceError("DeleteConflictException", f"Cannot delete entity, must {what} first.")


def limit_exceeded(message: str) -> ServiceError:
    """Return the error about a quota."""
    return ServiceError("LimitExceededException", message)


def invalid(message: str) -> ServiceError:
    """Return the error about a parameter."""
    return ServiceError("ValidationError", message)


def check_document(text: str, kind: PolicyKind) -> None:
    """Refuse a document that is no policy."""
    try:
        compile_policy(text, kind)
    except MalformedPolicyError as error:
        raise ServiceError("MalformedPolicyDocumentException", str(error)) from error


def read_name(parameters: Parameters, member: str) -> str:
    """Return a name after checking its letters."""
    name = str(parameters[member])
    if not _NAME.fullmatch(name):
        shown = member[0].lower() + member[1:]
        raise invalid(
            f"The specified value for {shown} is invalid. It must contain only alphanumeric "
            "characters and/or the following: +=,.@_-"
        )
    return name


def read_path(parameters: Parameters) -> str:
    """Return the path of a new entity."""
    path = str(parameters.get("Path") or "/")
    if not _PATH.fullmatch(path):
        raise invalid(
            "The specified value for path is invalid. It must begin and end with / and contain "
            "only alphanumeric characters and/or / characters."
        )
    return path


def read_tags(parameters: Parameters, before: dict[str, str] | None = None) -> dict[str, str]:
    """Return the tags of a request on top of those there were."""
    tags = dict(before or {})
    given = {tag["Key"]: tag.get("Value", "") for tag in parameters.get("Tags") or ()}
    lower = {name.lower() for name in given}
    if len(lower) < len(parameters.get("Tags") or ()):
        raise ServiceError(
            "InvalidInputException",
            "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
        )
    tags = {name: value for name, value in tags.items() if name.lower() not in lower} | given
    if len(tags) > _TAGS_MAX:
        raise limit_exceeded(f"The number of tags has reached the maximum limit: {_TAGS_MAX}.")
    return tags


def show_tags(tags: dict[str, str]) -> list[dict[str, str]]:
    """Return tags as they are listed."""
    return [{"Key": name, "Value": value} for name, value in tags.items()]


def own_name(scope: Scope, parameters: Parameters) -> str:
    """Return the user a request names, or the caller if it names none."""
    name = parameters.get("UserName")
    if name is not None:
        return str(name)
    found = _USER_ARN.fullmatch(scope.principal_arn)
    if found is None:
        raise invalid("Must specify userName when calling with non-User credentials")
    return found.group(1)


def moment(seconds: float) -> datetime:
    """Return a time as results have it."""
    return datetime.fromtimestamp(int(seconds), UTC)


def encode_document(text: str) -> str:
    """Return a document as results have it, percent-encoded."""
    return quote(text, safe="")


def page(items: Sequence[_Item], parameters: Parameters, member: str) -> dict[str, Any]:
    """Return a page of items as the member of a result, with what the next one needs."""
    start = 0
    marker = parameters.get("Marker")
    if marker is not None:
        try:
            start = int(base64.urlsafe_b64decode(marker.encode()))
        except (binascii.Error, ValueError):
            raise invalid("Invalid Marker.") from None
    end = max(start, 0) + (parameters.get("MaxItems") or _PAGE_ITEMS)
    result: dict[str, Any] = {member: list(items[max(start, 0) : end])}
    result["IsTruncated"] = end < len(items)
    if result["IsTruncated"]:
        result["Marker"] = base64.urlsafe_b64encode(str(end).encode()).decode()
    return result


def show_identity(identity: Identity, *, is_listed: bool = False) -> Result:
    """Return a user, group or role as results have it."""
    title = TITLES[identity.kind]
    shown: Result = {
        "Path": identity.path,
        f"{title}Name": identity.name,
        f"{title}Id": identity.id,
        "Arn": identity.arn,
        "CreateDate": moment(identity.created_at),
    }
    if identity.kind == "role":
        shown["AssumeRolePolicyDocument"] = encode_document(identity.trust)
        shown["MaxSessionDuration"] = identity.session_seconds_max
        if identity.description:
            shown["Description"] = identity.description
    if not is_listed:
        if identity.boundary is not None:
            shown["PermissionsBoundary"] = {
                "PermissionsBoundaryType": "Policy",
                "PermissionsBoundaryArn": identity.boundary,
            }
        if identity.tags:
            shown["Tags"] = show_tags(identity.tags)
    return shown


def name_member(kind: Kind) -> str:
    """Return the parameter that names a user, group or role."""
    return f"{TITLES[kind]}Name"
