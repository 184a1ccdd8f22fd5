"""`hashrange completion`: prints the shell code that completes commands, flags and their values.

The code is made from the parser, so that it knows what the program knows. It walks the words before
the cursor to find the command, then offers the values of the flag before the cursor, or else the
words that may follow the command.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final

SHELLS: Final = ("bash", "zsh")
_FILE_METAVARS: Final = frozenset({"PATH", "FILE"})
_PROGRAM: Final = "hashrange"

_BASH: Final = """\
_hashrange() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local place={program} choices='' index
    for ((index = 1; index < COMP_CWORD; index++)); do
        case "$place ${{COMP_WORDS[index]}}" in
            {commands}) place="$place ${{COMP_WORDS[index]}}" ;;
        esac
    done
    case "$place $previous" in
{values}
        {files}) COMPREPLY=($(compgen -f -- "$current")); return ;;
        *) case "$place" in
{words}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
}}
complete -o filenames -F _hashrange {program}
"""

# `path` and `words` are variables of zsh itself; `words` counts from 1.
_ZSH: Final = """\
_hashrange() {{
    local previous=${{words[CURRENT-1]}}
    local place={program} choices='' index
    for ((index = 2; index < CURRENT; index++)); do
        case "$place ${{words[index]}}" in
            {commands}) place="$place ${{words[index]}}" ;;
        esac
    done
    case "$place $previous" in
{values}
        {files}) _files; return ;;
        *) case "$place" in
{words}
        esac ;;
    esac
    compadd -- ${{=choices}}
}}
compdef _hashrange {program}
"""


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "completion",
        help="print shell code that completes commands and flags",
        description='Print completion code. In ~/.bashrc: eval "$(hashrange completion bash)"',
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that runs the code")


def run(parser: argparse.ArgumentParser, shell: str) -> int:
    """Print the code for a shell; return the exit status."""
    sys.stdout.write(script(parser, shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the code for a shell."""
    places = dict(_places(parser, _PROGRAM))
    values: list[str] = []
    files: list[str] = []
    for place, found in places.items():
        for action in found._actions:
            choices = _choices(action)
            patterns = "|".join(f"'{place} {flag}'" for flag in action.option_strings)
            if patterns and choices:
                values.append(f"        {patterns}) choices='{' '.join(choices)}' ;;")
            elif patterns and action.metavar in _FILE_METAVARS:
                files.append(patterns)
    words = [
        f"            '{place}') choices='{' '.join(_words(found))}' ;;"
        for place, found in places.items()
    ]
    return {"bash": _BASH, "zsh": _ZSH}[shell].format(
        program=_PROGRAM,
        commands="|".join(f"'{place}'" for place in places if place != _PROGRAM),
        values="\n".join(values),
        files="|".join(files),
        words="\n".join(words),
    )


def _places(
    parser: argparse.ArgumentParser, place: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each command with its parser, the program itself first."""
    yield place, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _places(below, f"{place} {name}")


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """Return what may follow a command: commands below it, values of its arguments, flags."""
    names: list[str] = []
    flags: list[str] = []
    for action in parser._actions:
        if not action.option_strings:
            names.extend(_choices(action))
        flags.extend(flag for flag in action.option_strings if flag.startswith("--"))
    return names + flags


def _choices(action: argparse.Action) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    # The flags of `serve` are checked with the settings and only name their choices.
    if action.option_strings and isinstance(action.metavar, str) and "|" in action.metavar:
        return action.metavar.split("|")
    return []
