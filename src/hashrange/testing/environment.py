"""The environment variables and default session of boto3 while a database is in use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import boto3

from hashrange.testing.clients import DUMMY_KEY, environment_key, own_session

_DUMMY_REGION: Final = "us-east-1"


@contextmanager
def safe_environment() -> Iterator[None]:
    """Give boto3 credentials and a region if the environment has none, and take away endpoints."""
    before = dict(environment_key())
    if "AWS_ACCESS_KEY_ID" not in before:
        os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = DUMMY_KEY
    if "AWS_DEFAULT_REGION" not in before:
        os.environ["AWS_DEFAULT_REGION"] = before.get("AWS_REGION", _DUMMY_REGION)
    for name in before:
        if name.startswith("AWS_ENDPOINT_URL"):
            del os.environ[name]
    during = dict(environment_key())
    try:
        yield
    finally:
        for name in {*before, *during}:
            # A variable that was changed in the meantime is not restored.
            if os.environ.get(name) == during.get(name):
                _restore(name, before.get(name))


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextmanager
def default_session() -> Iterator[None]:
    """Give `boto3.client` and `boto3.resource` a session that is quick, if they have none."""
    before = boto3.DEFAULT_SESSION
    during = before or own_session()
    boto3.DEFAULT_SESSION = during
    try:
        yield
    finally:
        if boto3.DEFAULT_SESSION is during:
            boto3.DEFAULT_SESSION = before
