"""The `hashrange` command: reads its arguments, does what they say, and words what went wrong.

Exit status: 0 when all went well, 1 when the server could not start or refused a request, 2 for
wrong arguments. Whatever a command needs is imported when it runs, so that `--help` and
`--version` are quick.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from hashrange import __version__
from hashrange.config import CONFIG_OPTION, SettingsError, default_of, load_settings
from hashrange.options import OPTIONS, Kind, Option

_METAVARS = {
    Kind.TEXT: "TEXT",
    Kind.PATH: "PATH",
    Kind.PLACE: "PLACE",
    Kind.COUNT: "NUMBER",
    Kind.SECONDS: "SECONDS",
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit."""
    words = sys.argv[1:] if arguments is None else arguments
    # A server does not load the other commands, which would take memory for as long as it runs.
    is_server = words[:1] == ["serve"]
    parser = build_parser(with_others=not is_server)
    given = parser.parse_args(words)
    if not is_server and given.command not in ("serve", "doctor"):
        from hashrange.cli import other_commands

        sys.exit(other_commands.run(given, parser))
    flags = {name.replace("_", "-"): value for name, value in vars(given).items()}
    if flags.pop("command") == "doctor":
        from hashrange.cli import doctor

        sys.exit(doctor.run(flags, os.environ))
    sys.exit(_serve(flags))


def build_parser(*, with_others: bool = True) -> argparse.ArgumentParser:
    """Return the parser of all commands and flags, or of those that start a server."""
    parser = argparse.ArgumentParser(
        prog="hashrange", description="The DynamoDB API as software you run yourself."
    )
    parser.add_argument("--version", action="version", version=f"hashrange {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text, description in (
        ("serve", "start a server", "Start a DynamoDB server and serve until it is told to stop."),
        (
            "doctor",
            "look for what would keep a server from working",
            "Check versions, port, permissions, disk and common mistakes; flags as of serve.",
        ),
    ):
        command = commands.add_parser(
            name,
            help=text,
            description=description,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        command.add_argument(f"--{CONFIG_OPTION}", metavar="FILE", help="TOML file of settings")
        for option in OPTIONS:
            _add_flag(command, option)
    if with_others:
        from hashrange.cli import other_commands

        other_commands.add_to(commands)
    return parser


def _add_flag(parser: argparse.ArgumentParser, option: Option) -> None:
    flag = f"--{option.name}"
    if option.kind is Kind.SWITCH:
        parser.add_argument(flag, action="store_true", help=option.help)
        return
    if option.kind is Kind.TEXTS:
        parser.add_argument(flag, action="append", metavar="TEXT", help=option.help)
        return
    metavar = "|".join(option.choices) or _METAVARS[option.kind]
    default = default_of(option)
    shown = "" if default is None else f" (default: {default})"
    parser.add_argument(flag, metavar=metavar, help=option.help + shown)


def _serve(flags: dict[str, object]) -> int:
    try:
        settings = load_settings(flags, os.environ)
    except SettingsError as error:
        return _complain(error, status=2)

    # Nothing that is loaded now is garbage; the server turns the collector on again.
    gc.disable()
    from hashrange.app.engines import StartError
    from hashrange.cli.banner import Voice
    from hashrange.cli.logs import set_up_logging
    from hashrange.supervisor import serve

    set_up_logging(settings.log_level, settings.log_format)
    voice = Voice(settings)
    try:
        serve(settings, voice.ready, voice.stopping)
    except StartError as error:
        return _complain(error, status=1)
    voice.stopped()
    return 0


def _complain(error: Exception, *, status: int) -> int:
    sys.stderr.write(f"hashrange: {error}\n")
    return status
