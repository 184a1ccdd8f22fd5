"""Log lines for machines."""

import json
import logging

import pytest

from hashrange.cli.logs import set_up_logging


@pytest.fixture
def root_logger():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield root
    root.handlers = handlers
    root.setLevel(level)


def test_a_json_line_carries_message_level_and_exception(root_logger, capsys):
    set_up_logging("info", "json")
    logging.getLogger("hashrange.x").debug("not shown")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("hashrange.x").exception("it %s", "failed")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    document = json.loads(lines[0])
    assert (document["level"], document["message"]) == ("error", "it failed")
    assert "ValueError: broken" in document["exception"]


def test_a_human_line_is_a_line(root_logger, capsys):
    set_up_logging("warning", "human")
    logging.getLogger("hashrange.x").warning("mind the gap")
    logging.getLogger("hashrange.x").info("not shown")
    assert capsys.readouterr().err.endswith(" WARNING mind the gap\n")


def test_control_characters_never_reach_a_line_for_people(root_logger, capsys):
    set_up_logging("warning", "human")
    log = logging.getLogger("hashrange.x")
    log.warning("name %s", "a\nforged ERROR line\x1b[31m\x00\u2028")
    try:
        raise ValueError("b\x1b[2J")
    except ValueError:
        log.exception("it failed")
    text = capsys.readouterr().err
    first = text.splitlines()[0]
    assert first.endswith("name a\\nforged ERROR line\\x1b[31m\\x00\\u2028")
    assert "\x1b" not in text
    assert "ValueError: b\\x1b[2J" in text
