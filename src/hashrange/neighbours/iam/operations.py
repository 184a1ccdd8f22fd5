"""The operations of IAM."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.identities.store import IdentityStore
from hashrange.neighbours.iam.access_keys import AccessKeys
from hashrange.neighbours.iam.attached_policies import AttachedPolicies
from hashrange.neighbours.iam.groups import Groups
from hashrange.neighbours.iam.inline_policies import InlinePolicies
from hashrange.neighbours.iam.managed_policies import ManagedPolicies
from hashrange.neighbours.iam.people import Accounts, Roles, Users
from hashrange.neighbours.iam.simulation import Simulation
from hashrange.neighbours.service import Handler


def make_operations(store: IdentityStore) -> Mapping[str, Handler]:
    """Return all operations by name."""
    parts = (
        AccessKeys(store),
        Accounts(store),
        Groups(store),
        ManagedPolicies(store),
        Roles(store),
        Simulation(store),
        Users(store),
    )
    found: dict[str, Handler] = {}
    for part in parts:
        found.update(part.operations())
    for kind in ("user", "group", "role"):
        found.update(InlinePolicies(store, kind).operations())
        found.update(AttachedPolicies(store, kind).operations())
    return found
