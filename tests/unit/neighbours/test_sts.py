"""STS: who is calling."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.neighbours.sts import sts_service
from tests.harness.identities import identity_store


@pytest.mark.parametrize(
    ("arn", "user_id"),
    [
        ("arn:aws:iam::123456789012:root", "123456789012"),
        ("arn:aws:iam::123456789012:user/alice", "AKIDEXAMPLE"),
    ],
)
def test_the_root_user_is_known_by_its_account_and_others_by_their_key(arn, user_id):
    scope = SimpleNamespace(account="123456789012", access_key="AKIDEXAMPLE", principal_arn=arn)
    scope.grants = None
    handler: Any = sts_service(identity_store()).handlers()["GetCallerIdentity"]
    result = asyncio.run(handler(scope, {}))
    assert result == {"UserId": user_id, "Account": "123456789012", "Arn": arn}
