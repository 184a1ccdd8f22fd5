"""The keys of a server: what is sealed for good needs a key that outlives the process."""

from typing import Any

import pytest

from hashrange.app.keys import ServerKeys
from hashrange.config import Settings
from hashrange.errors import ValidationException

CLUSTER: dict[str, Any] = {"engine": "cassandra", "contact_points": ("127.0.0.1",)}


def test_a_cluster_without_a_key_makes_no_kms_keys():
    keys = ServerKeys(Settings(**CLUSTER))
    with pytest.raises(ValidationException, match="on a cluster, give --key-file"):
        keys.keyring.vault.seal("kms", "id", b"material")
    assert keys.vault.open("session", "id", keys.vault.seal("session", "id", b"a")) == b"a"


def test_processes_of_a_cluster_with_the_same_key_open_what_each_other_sealed():
    one, two = (ServerKeys(Settings(key="5a" * 32, **CLUSTER)) for _ in range(2))
    sealed = one.keyring.vault.seal("kms", "id", b"material")
    assert two.keyring.vault.open("kms", "id", sealed) == b"material"


def test_in_memory_a_key_lasts_as_long_as_the_data():
    vault = ServerKeys(Settings(in_memory=True)).keyring.vault
    assert vault.open("kms", "id", vault.seal("kms", "id", b"material")) == b"material"


def test_objects_are_sealed_with_a_key_that_was_given_and_with_no_other():
    assert ServerKeys(Settings(in_memory=True)).object_keys() == []
    one, two = (ServerKeys(Settings(key="5a" * 32, **CLUSTER)) for _ in range(2))
    assert one.object_keys() == two.object_keys()
    assert one.object_keys() not in ([], [bytes.fromhex("5a" * 32)])
    assert ServerKeys(Settings(key="5a" * 32, in_memory=True)).object_keys()
