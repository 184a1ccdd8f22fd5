"""Builds the package as pyproject.toml says; with HASHRANGE_COMPILE=1, with its hot path compiled.

mypyc makes extension modules of the modules below, from the same sources. That needs mypy beside
setuptools, a C compiler and the headers of Python; see the section on it in ARCHITECTURE.md.
"""

import os

from setuptools import setup

# What runs for every item or for every request. Left out is what is rarely called, and classes that
# others replace or inherit from.
COMPILED = [
    "limits",
    "back_off",
    "model/comparison",
    "model/keys",
    "model/nesting",
    "model/numbers",
    "model/schema",
    "model/sets",
    "model/values",
    "model/wire_types",
    "engine/sqlite/engine",
    "engine/sqlite/batch",
    "engine/sqlite/shared_state",
    "engine/sqlite/connection",
    "engine/sqlite/checkpoints",
    "engine/sqlite/commit_policy",
    "engine/sqlite/group_commit",
    "storage/expiry",
    "storage/images",
    "storage/indexes",
    "storage/layout",
    "storage/lock_steps",
    "storage/expire_write",
    "storage/item_collections",
    "storage/writes",
    "api/scope",
    "api/items/arguments",
    "api/triggers/event_sources",
    "api/items/get_item",
    "api/items/item_writes",
    "api/items/key_paths",
    "api/items/keys",
    "api/items/consumed_capacity",
    "api/items/put_item",
    "api/shapes/scalars",
    "api/shapes/structures",
    "wire/auth/authorization",
    "wire/protocols/json_codec",
    "wire/http/connection",
    "wire/http/suspension",
    "wire/pipeline",
    "wire/protocols/target_json",
    "wire/http/router",
    "wire/http/head_cache",
    "wire/http/messages",
    "wire/http/responses",
    "wire/http/server",
    "wire/auth/sigv4",
    "wire/http/loop_turn",
]


def extensions():
    """Return the extension modules to build, none unless asked for."""
    if os.environ.get("HASHRANGE_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    return mypycify([f"src/hashrange/{name}.py" for name in COMPILED], opt_level="3")


setup(ext_modules=extensions())
