"""The greeting: an address that works from this machine, and what to do with it."""

from pathlib import Path

import pytest

from hashrange.cli.banner import Voice, endpoint, greeting
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


def exports(text):
    """Return the variables that the lines to paste set."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("export ")]
    return dict(pair.split("=", 1) for line in lines for pair in line.split()[1:])


def test_the_lines_to_paste_are_all_that_a_client_needs():
    assert exports(greeting(Settings(), "127.0.0.1", 8000)) == {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:8000",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }


@pytest.mark.parametrize(("found", "is_told"), [(None, True), ("/usr/bin/hashrange", False)])
def test_a_command_that_the_shell_does_not_find_is_put_on_its_path(monkeypatch, found, is_told):
    monkeypatch.setattr("sys.argv", ["/checkout/.venv-serve/bin/hashrange", "serve"])
    monkeypatch.setattr("shutil.which", lambda name: found)
    text = greeting(Settings(), "127.0.0.1", 8000)
    assert ("export PATH=/checkout/.venv-serve/bin:$PATH" in text) == is_told


def test_it_suggests_credentials_only_if_any_will_do():
    text = greeting(Settings(credentials=Path("keys.toml")), "127.0.0.1", 8000)
    assert "a pair of keys.toml" in text
    assert "AWS_ACCESS_KEY_ID" not in exports(text)


def test_a_stop_goes_on_when_nobody_reads_its_messages(monkeypatch):
    class BrokenPipe:
        def isatty(self):
            return False

        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", BrokenPipe())
    Voice(Settings()).stopping()
    Voice(Settings()).stopped()


def test_on_a_terminal_the_message_stands_below_the_interrupt(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    Voice(Settings(stop_timeout=7)).stopping()
    assert capsys.readouterr().out == (
        "\nstopping: requests that are under way have 7 seconds to finish; Ctrl-C stops at once\n"
    )
