"""Progress at a terminal: a bar, a counter without rich, nothing elsewhere."""

import io
import sys

import pytest

from hashrange.cli import meter as meters
from hashrange.cli.meter import meter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Make standard error a terminal; pytest has its own between the phases of a test."""

    def make():
        found = Terminal()
        monkeypatch.setattr(sys, "stderr", found)
        monkeypatch.setattr(meters, "_COUNTER_SECONDS", -1.0)
        monkeypatch.setenv("TERM", "xterm")
        return found

    return make


def test_nothing_is_shown_unless_there_is_a_terminal(capsys):
    with meter("copying", 10) as progress:
        progress.advance(5)
    assert capsys.readouterr() == ("", "")


def test_a_bar_shows_items_and_rate(terminal):
    shown = terminal()
    with meter("copying", 10, 2) as progress:
        progress.advance(5)
    text = shown.getvalue()
    assert "copying" in text
    assert "7 items" in text
    assert "/s" in text


def test_without_rich_there_is_a_counter(terminal, monkeypatch):
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    shown = terminal()
    with meter("copying", 1000, 2) as progress:
        progress.advance(5)
    assert shown.getvalue() == "\rcopying 7 of about 1,000 items\r\x1b[K"
