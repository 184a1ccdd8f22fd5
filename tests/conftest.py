"""What holds for all tests."""

import pytest
from hypothesis import settings

# How long an example takes says more about what else the machine is doing than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cassandra",
        default="",
        help="contact points of a Cassandra cluster, to run engine and server tests on",
    )
