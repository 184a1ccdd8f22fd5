"""The greeting: an address that works from this machine, and what to do with it."""

from pathlib import Path

import pytest

from hashrange.cli.banner import endpoint, greeting
from hashrange.config import Settings


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("::", "http://[::1]:8000"),
    ],
)
def test_the_endpoint_can_be_reached_from_this_machine(host, url):
    assert endpoint(host, 8000) == url


def test_it_says_where_the_data_is():
    assert "/data/here" in greeting(Settings(data_dir=Path("/data/here")), "127.0.0.1", 8000)
    assert "gone when the server stops" in greeting(Settings(in_memory=True), "127.0.0.1", 8000)


def test_it_suggests_credentials_only_if_any_will_do():
    assert 'aws_access_key_id="local"' in greeting(Settings(), "127.0.0.1", 8000)
    text = greeting(Settings(credentials=Path("keys.toml")), "127.0.0.1", 8000)
    assert "those of keys.toml" in text
    assert 'aws_access_key_id="local"' not in text
