"""Stores of identities and of KMS keys, with a key that everybody knows."""

from hashrange.audit.events import EventStore
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.identities.store import IdentityStore
from hashrange.keyring.store import KeyStore
from hashrange.sealing import Vault


def identity_store() -> IdentityStore:
    """Return an empty store in memory."""
    store = IdentityStore(Vault(lambda: bytes(32)))
    store.open(MemoryEngine())
    return store


def key_store(engine: Engine | None = None) -> KeyStore:
    """Return a store of KMS keys on an engine, or empty and in memory."""
    store = KeyStore(Vault(lambda: bytes(32)))
    store.open(engine or MemoryEngine())
    return store


def event_store() -> EventStore:
    """Return a store of audit events, empty and in memory."""
    return EventStore(MemoryEngine())
