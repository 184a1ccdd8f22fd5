"""A store of identities with a key that everybody knows."""

from hashrange.engine.memory.engine import MemoryEngine
from hashrange.identities.store import IdentityStore
from hashrange.sealing import Vault


def identity_store() -> IdentityStore:
    """Return an empty store in memory."""
    store = IdentityStore(Vault(lambda: bytes(32)))
    store.open(MemoryEngine())
    return store
