"""Seals: what opens them, and what does not."""

from typing import Any

import pytest

from hashrange.identities.directory import Directory
from hashrange.identities.records import Identity
from hashrange.identities.sessions import (
    Session,
    open_session,
    seal_session,
    session_grants,
)
from hashrange.sealing import SealError, Vault
from tests.harness.presence import there

ACCOUNT = "111111111111"


@pytest.fixture
def vault():
    return Vault(lambda: b"k" * 32)


def session(**members):
    made: dict[str, Any] = {
        "kind": "role",
        "account": ACCOUNT,
        "name": "Reader",
        "id": "AROA1",
        "session_name": "work",
        "secret": "secret",
        "issued_at": 1.0,
        "expires_at": 2.0,
    }
    return Session(**(made | members))


def test_a_seal_opens_for_its_purpose_subject_and_key_only(vault):
    sealed = vault.seal("access keys", "AKIA1", b"secret")
    assert vault.open("access keys", "AKIA1", sealed) == b"secret"
    assert vault.seal("access keys", "AKIA1", b"secret") != sealed
    for other, purpose, subject in (
        (vault, "session tokens", "AKIA1"),
        (vault, "access keys", "AKIA2"),
        (Vault(lambda: b"l" * 32), "access keys", "AKIA1"),
    ):
        with pytest.raises(SealError):
            other.open(purpose, subject, sealed)


@pytest.mark.parametrize("sealed", ["", "x", "é", "A" * 16, "=" * 40, "\n"])
def test_what_is_no_seal_does_not_open(vault, sealed):
    with pytest.raises(SealError):
        vault.open("access keys", "AKIA1", sealed)


def test_every_changed_character_spoils_a_token(vault):
    token = seal_session(vault, "ASIA1", session())
    assert open_session(vault, "ASIA1", token) == session()
    for at in range(0, len(token) - 4, 7):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        with pytest.raises(SealError):
            open_session(vault, "ASIA1", changed)
    with pytest.raises(SealError):
        open_session(vault, "ASIA1", "A" * 20_000)


def test_a_session_does_not_outlive_its_role():
    directory = Directory(1)
    role = Identity("role", ACCOUNT, "Reader", "/", "AROA1", 0.0)
    assert session_grants(directory, session()) is None
    directory.add(role)
    grants = there(session_grants(directory, session()))
    assert grants.principal.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/Reader/work"
    assert grants.principal.issuer_arn == role.arn
    # A namesake that was made later.
    assert session_grants(directory, session(id="AROA2")) is None


def test_tags_of_a_session_come_before_those_of_its_role():
    directory = Directory(1)
    tags = {"team": "red", "floor": "1"}
    directory.add(Identity("role", ACCOUNT, "Reader", "/", "AROA1", 0.0, tags=tags))
    keys = there(session_grants(directory, session(tags={"Team": "blue"}))).principal.keys
    assert (keys["aws:principaltag/team"], keys["aws:principaltag/floor"]) == ("blue", "1")
