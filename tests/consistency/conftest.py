"""Tests with porcupine need Go and its module proxy, so they run only when asked for."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--with-porcupine", action="store_true", help="run what needs Go")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "porcupine: needs Go and its module proxy")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--with-porcupine", default=False):
        return
    left_out = [item for item in items if "porcupine" in item.keywords]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
