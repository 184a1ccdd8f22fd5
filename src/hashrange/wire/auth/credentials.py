"""Reads the credentials file: access keys, their secrets and their accounts.

[AKIDEXAMPLE]                  # the access key id
secret = "the secret access key"
account = "123456789012"       # optional: twelve digits
token = "a session token"      # optional: then requests have to carry it
"""

from __future__ import annotations

import re
from pathlib import Path

from hashrange.wire.auth.sigv4 import Credential

_ACCESS_KEY = re.compile(r"\w{1,128}", re.ASCII)
_ACCOUNT = re.compile(r"[0-9]{12}")
_MEMBERS = frozenset({"account", "secret", "token"})


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
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise CredentialsFileError(f"{shown} must be a table of texts.")
    unknown = sorted(set(entry) - _MEMBERS)
    if unknown:
        raise CredentialsFileError(f"{shown} has an unknown member {unknown[0]}.")
    if not entry.get("secret"):
        raise CredentialsFileError(f"{shown} lacks its secret.")
    account = entry.get("account")
    if account is not None and not _ACCOUNT.fullmatch(account):
        raise CredentialsFileError(f"{shown} has an account that is not twelve digits.")
    return Credential(access_key, entry["secret"], account=account, token=entry.get("token"))
