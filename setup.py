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
    "trials",
    "model/comparison",
    "model/keys",
    "model/numbers",
    "model/schema",
    "model/values",
    "model/wire_types",
    "engine/sqlite",
    "engine/sqlite_batch",
    "engine/sqlite_board",
    "engine/sqlite_connection",
    "engine/sqlite_log",
    "engine/sqlite_patience",
    "engine/sqlite_writer",
    "storage/expiry",
    "storage/indexes",
    "storage/layout",
    "storage/writes",
    "api/arguments",
    "api/event_sources",
    "api/get_item",
    "api/item_writes",
    "api/key_paths",
    "api/keys",
    "api/outcomes",
    "api/put_item",
    "api/scalars",
    "api/shapes",
    "wire/claims",
    "wire/codec",
    "wire/connection",
    "wire/dispatch",
    "wire/edge",
    "wire/heads",
    "wire/messages",
    "wire/responses",
    "wire/server",
    "wire/signature",
    "wire/turn",
    "wire/vigil",
]


def extensions():
    """Return the extension modules to build, none unless asked for."""
    if os.environ.get("HASHRANGE_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    return mypycify([f"src/hashrange/{name}.py" for name in COMPILED], opt_level="3")


setup(ext_modules=extensions())
