"""Reads the credentials file: access keys, their secrets and their accounts.

[AKIDEXAMPLE]                  # the access key id
secret = "the secret access key"
account = "123456789012"       # optional: twelve digits
token = "a session token"      # optional: then requests have to carry it
user = "ann"                   # optional: the name of a user, who has the policies below only
policies = ["AmazonDynamoDBReadOnlyAccess"]   # names or ARNs of policies that AWS manages
policy = '{"Version": ...}'    # a policy document

An entry without user and policies is the root of its account and may do everything.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hashrange.identities.managed import AWS_MANAGED
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal
from hashrange.policies.statements import Policy
from hashrange.wire.auth.accounts import account_of
from hashrange.wire.auth.key_rings import Credential, root_grants

_ACCESS_KEY = re.compile(r"\w{1,128}", re.ASCII)
_ACCOUNT = re.compile(r"[0-9]{12}")
_USER: Final = re.compile(r"[\w+=,.@-]{1,64}", re.ASCII)
_MEMBERS = frozenset({"account", "policies", "policy", "secret", "token", "user"})
_MANAGED: Final = "arn:aws:iam::aws:policy/"


class CredentialsFileError(Exception):
    """The credentials file cannot be used; the message is for the operator."""


def load_credentials(path: Path) -> dict[str, Credential]:
    """Return the credentials of a file by access key id."""
    # Few servers have such a file, and the parser is slow to import.
    import tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CredentialsFileError(f"Cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CredentialsFileError(f"{path} is not valid TOML: {error}.") from error
    if not document:
        raise CredentialsFileError(f"{path} holds no credentials: nobody could use the server.")
    return {key: _credential(path, key, entry) for key, entry in document.items()}


def _credential(path: Path, access_key: str, entry: object) -> Credential:
    shown = f"{path}: [{access_key}]"
    if not _ACCESS_KEY.fullmatch(access_key):
        raise CredentialsFileError(f"{shown} is not an access key id (letters, digits and _).")
    if not isinstance(entry, dict) or not all(
        isinstance(value, str) for name, value in entry.items() if name != "policies"
    ):
        raise CredentialsFileError(f"{shown} must be a table of texts.")
    unknown = sorted(set(entry) - _MEMBERS)
    if unknown:
        raise CredentialsFileError(f"{shown} has an unknown member {unknown[0]}.")
    if not entry.get("secret"):
        raise CredentialsFileError(f"{shown} lacks its secret.")
    account = entry.get("account")
    if account is not None and not _ACCOUNT.fullmatch(account):
        raise CredentialsFileError(f"{shown} has an account that is not twelve digits.")
    grants = _grants(shown, access_key, entry)
    return Credential(access_key, entry["secret"], grants, token=entry.get("token"))


def _grants(shown: str, access_key: str, entry: dict[str, Any]) -> Grants:
    account = entry.get("account") or account_of(access_key)
    if not entry.keys() & {"user", "policies", "policy"}:
        return root_grants(account)
    name = entry.get("user", access_key)
    if not _USER.fullmatch(name):
        raise CredentialsFileError(f"{shown} has a user with a name that IAM does not take.")
    arn = f"arn:aws:iam::{account}:user/{name}"
    keys = {
        "aws:username": name,
        "aws:userid": access_key,
        "aws:principalarn": arn,
        "aws:principaltype": "User",
        "aws:principalaccount": account,
    }
    return Grants(Principal(arn, account, keys=keys), _policies(shown, entry))


def _policies(shown: str, entry: dict[str, Any]) -> list[Policy]:
    names = entry.get("policies", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CredentialsFileError(f"{shown} has policies that are not a list of names.")
    documents = []
    for name in names:
        arn = name if name.startswith("arn:") else _MANAGED + name
        if arn not in AWS_MANAGED:
            raise CredentialsFileError(f"{shown} has a policy {name}, which there is not.")
        documents.append((name, AWS_MANAGED[arn].document))
    if "policy" in entry:
        documents.append(("policy", entry["policy"]))
    try:
        return [compile_policy(text, Kind.IDENTITY, name) for name, text in documents]
    except MalformedPolicyError as error:
        raise CredentialsFileError(f"{shown} has a malformed policy: {error}") from error
