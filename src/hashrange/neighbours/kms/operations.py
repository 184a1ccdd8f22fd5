"""The operations of KMS."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.keyring.store import KeyStore
from hashrange.neighbours.kms.aliases import Aliases
from hashrange.neighbours.kms.encryption import Encryption
from hashrange.neighbours.kms.grants import Grants
from hashrange.neighbours.kms.keys import Keys
from hashrange.neighbours.kms.policies import Policies
from hashrange.neighbours.kms.rotation import Rotation
from hashrange.neighbours.kms.tags import Tags
from hashrange.neighbours.service import Handler


def make_operations(keys: KeyStore) -> Mapping[str, Handler]:
    """Return all operations by name."""
    found: dict[str, Handler] = {}
    for part in (Aliases, Encryption, Grants, Keys, Policies, Rotation, Tags):
        found.update(part(keys).operations())
    return found
