"""Completion offers what the parser knows; the code runs in the shells themselves."""

import shlex
import shutil
import subprocess

import pytest

from hashrange.cli.completion import script
from hashrange.cli.main import build_parser
from hashrange.options import OPTIONS

# Stands in for the line editor of zsh: prints what would be offered.
ZSH_EDITOR = """
compdef() { :; }
compadd() { shift; print -l -- "$@"; }
_files() { print FILES; }
"""


def bash(*words):
    """Return what bash offers for the last of the words."""
    line = " ".join(shlex.quote(word) for word in ("hashrange", *words))
    code = script(build_parser(), "bash") + (
        f"\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _hashrange\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    return run("bash", "--norc", code)


def zsh(*words):
    """Return what zsh is given to choose from for the last of the words."""
    line = " ".join(shlex.quote(word) for word in ("hashrange", *words))
    code = ZSH_EDITOR + script(build_parser(), "zsh")
    return run("zsh", "-f", f"{code}\nwords=({line}); CURRENT={len(words) + 1}; _hashrange\n")


def run(shell, flag, code):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run(
        [shell, flag, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture(params=[bash, zsh], ids=["bash", "zsh"])
def offered(request):
    return request.param


def test_commands_are_offered(offered):
    words = offered("")
    assert {"serve", "doctor", "triggers", "completion", "--version"} <= set(words)


def test_every_flag_of_serve_is_offered(offered):
    words = offered("serve", "--port", "9000", "")
    assert {f"--{option.name}" for option in OPTIONS} <= set(words)


def test_commands_below_commands_are_offered(offered):
    assert {"add", "list", "functions"} <= set(offered("triggers", ""))
    assert {"add", "list", "show", "remove"} <= set(offered("triggers", "functions", ""))
    assert "--http" in offered("triggers", "functions", "add", "")


def test_values_of_flags_and_arguments_are_offered(offered):
    assert offered("serve", "--log-level", "") == ["debug", "info", "warning", "error"]
    assert {"bash", "zsh"} <= set(offered("completion", ""))


def test_bash_offers_what_begins_like_the_word():
    assert bash("serve", "--log-") == ["--log-level", "--log-format"]


def test_files_are_offered_where_a_file_is_meant(tmp_path):
    (tmp_path / "keys.toml").touch()
    assert bash("serve", "--credentials", f"{tmp_path}/k") == [f"{tmp_path}/keys.toml"]
    assert zsh("serve", "--credentials", "") == ["FILES"]
