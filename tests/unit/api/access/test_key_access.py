"""Who may use a KMS key: its policy first, then the caller's own policies, and grants."""

import asyncio
import json

import pytest

from hashrange.api.access.authoriser import PolicyAuthoriser
from hashrange.api.scope import IN_PROCESS, Caller, RequestScope
from hashrange.clock import SystemClock
from hashrange.errors import AccessDeniedException
from hashrange.keyring.ciphertexts import encrypt, make_material
from hashrange.keyring.records import Grant, Key
from hashrange.keyring.store import key_row
from hashrange.neighbours.kms import kms_service
from hashrange.neighbours.kms.keys import default_policy
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal
from tests.harness.guarded import ACCOUNT, REGION, USER, allow, deny, policy
from tests.harness.identities import key_store

ID = "0b0b0b0b-0000-4000-8000-000000000000"
OPERATIONS = sorted(kms_service(key_store()).handlers())


class Parameters(dict):
    """Parameters of which every required one is there."""

    def __missing__(self, name):
        return "alias/some-text"


class Site:
    """A store with one key, and requests of one user."""

    def __init__(self, key_policy=None, **members):
        self.keys = key_store()
        material = make_material(self.keys.vault, ID, 0.0)
        text = default_policy(ACCOUNT) if key_policy is None else json.dumps(key_policy)
        self.key = Key(ID, ACCOUNT, REGION, 0.0, text, [material], **members)
        row = key_row((ACCOUNT, REGION), ID)
        asyncio.run(self.keys.change([row], lambda _records: {row: self.key}))

    def call(self, operation, *statements, principal=USER, account=ACCOUNT, **parameters):
        scope = RequestScope(b"", IN_PROCESS, b"")
        grants = Grants(Principal(principal, account), [policy(*statements)] if statements else [])
        scope.caller = Caller("AKIA", account, principal, REGION, "kms", grants)
        scope.service, scope.operation = "kms", operation

        class Context:
            clock = SystemClock()

        scope.context = Context()  # type: ignore[assignment]
        authorised = PolicyAuthoriser(None, self.keys).authorise(scope, Parameters(parameters))

        async def wait():
            if authorised is not None:
                await authorised

        asyncio.run(wait())


def key_statement(effect="Allow", **members):
    statement = {"Effect": effect, "Action": "kms:*", "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [{**statement, **members}]}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_principal_without_policies_is_refused(operation):
    site = Site()
    with pytest.raises(AccessDeniedException, match="is not authorized to perform: kms:"):
        site.call(operation, KeyId=ID)
    with pytest.raises(AccessDeniedException):
        site.call(operation, allow("dynamodb:*"), KeyId=ID)
    site.call(operation, allow("kms:*"), KeyId=ID)


def test_the_callers_policies_count_for_the_keys_they_name():
    site = Site()
    site.call("Encrypt", allow("kms:Encrypt", site.key.arn), KeyId=ID)
    other = site.key.arn.replace("0b0b", "0c0c")
    with pytest.raises(AccessDeniedException, match=ID):
        site.call("Encrypt", allow("kms:Encrypt", other), KeyId=ID)


def test_a_ciphertext_is_weighed_by_the_key_it_names():
    site = Site()
    blob = encrypt(site.keys.vault, site.key, b"text", {})
    site.call("Decrypt", allow("kms:Decrypt", site.key.arn), CiphertextBlob=blob)
    with pytest.raises(AccessDeniedException, match=ID):
        site.call("Decrypt", allow("kms:Encrypt", "*"), CiphertextBlob=blob)
    moving = {"CiphertextBlob": blob, "DestinationKeyId": ID}
    with pytest.raises(AccessDeniedException, match="ReEncryptTo"):
        site.call("ReEncrypt", allow("kms:ReEncryptFrom"), **moving)
    site.call("ReEncrypt", allow("kms:ReEncrypt*"), **moving)


def test_a_key_policy_that_does_not_name_the_account_leaves_its_policies_without_effect():
    somebody = {"AWS": f"arn:aws:iam::{ACCOUNT}:user/somebody"}
    site = Site(key_statement(Principal=somebody))
    with pytest.raises(AccessDeniedException, match="no resource-based policy allows"):
        site.call("Encrypt", allow("kms:*"), KeyId=ID)
    site.call("Encrypt", principal=somebody["AWS"], KeyId=ID)


def test_a_deny_of_either_side_wins():
    site = Site(key_statement(Principal={"AWS": USER}))
    site.call("Encrypt", KeyId=ID)
    with pytest.raises(AccessDeniedException, match="explicit deny in an identity-based policy"):
        site.call("Encrypt", deny("kms:Encrypt"), KeyId=ID)
    denying = Site(key_statement("Deny", Principal="*"))
    with pytest.raises(AccessDeniedException, match="explicit deny in a resource-based policy"):
        denying.call("Encrypt", allow("kms:*"), KeyId=ID)


def test_a_grant_allows_what_it_lists_with_the_context_it_asks_for():
    grant = Grant("1", "t", USER, ["Decrypt"], 0.0, "", context_subset={"a": "b"})
    site = Site(grants=[grant])
    site.call("Decrypt", KeyId=ID, EncryptionContext={"a": "b", "c": "d"})
    for operation, context in (("Decrypt", {}), ("Encrypt", {"a": "b"})):
        with pytest.raises(AccessDeniedException):
            site.call(operation, KeyId=ID, EncryptionContext=context)
    with pytest.raises(AccessDeniedException):
        site.call("Decrypt", deny("kms:Decrypt"), KeyId=ID, EncryptionContext={"a": "b"})


def test_a_condition_on_the_encryption_context_decides():
    condition = {"StringEquals": {"kms:EncryptionContext:table": "orders"}}
    site = Site(key_statement(Principal={"AWS": USER}, Condition=condition))
    site.call("Encrypt", KeyId=ID, EncryptionContext={"table": "orders"})
    with pytest.raises(AccessDeniedException):
        site.call("Encrypt", KeyId=ID, EncryptionContext={"table": "others"})


def test_another_account_needs_both_sides():
    stranger = "arn:aws:iam::999999999999:user/eve"
    site = Site(key_statement(Principal={"AWS": stranger}))
    calling = {"principal": stranger, "account": "999999999999", "KeyId": site.key.arn}
    with pytest.raises(AccessDeniedException):
        site.call("Encrypt", **calling)
    site.call("Encrypt", allow("kms:Encrypt"), **calling)


def test_the_retiring_principal_of_a_grant_may_retire_it_without_any_policy():
    site = Site(grants=[Grant("1", "t", "x", ["Decrypt"], 0.0, "", retiring=USER)])
    site.call("RetireGrant", GrantToken="t")
    with pytest.raises(AccessDeniedException):
        site.call("RetireGrant", GrantToken="other")
