"""The guides take a minute, most of it for the AWS CLI, so they run only when asked for."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--with-guides", action="store_true", help="run the code of the guides")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--with-guides", default=False):
        return
    left_out = [item for item in items if "test_the_code_of_a_page_runs" in item.name]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
