"""The `hashrange` command: reads its arguments, does what they say, and words what went wrong.

Exit status: 0 when all went well, 1 when the server could not start or refused a request, 2 for
wrong arguments. Whatever a command needs is imported when it runs, so that `--help` and
`--version` are quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from hashrange import __version__
from hashrange.cli import backups, certificate, completion, data_directories, design, top, triggers
from hashrange.cli.data import commands as data_commands
from hashrange.config import CONFIG_OPTION, SettingsError, default_of, load_settings
from hashrange.options import OPTIONS, Kind, Option

_METAVARS = {
    Kind.TEXT: "TEXT",
    Kind.PATH: "PATH",
    Kind.COUNT: "NUMBER",
    Kind.SECONDS: "SECONDS",
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit."""
    parser = build_parser()
    given = parser.parse_args(arguments)
    if given.command == "triggers":
        sys.exit(triggers.run(given))
    if given.command == "design":
        sys.exit(design.run(given))
    if given.command in data_commands.NAMES:
        sys.exit(data_commands.run(given))
    if given.command == "backup":
        sys.exit(backups.run(given, os.environ))
    if given.command in data_directories.COMMANDS:
        sys.exit(data_directories.run(given, os.environ))
    if given.command == "certificate":
        sys.exit(certificate.run(given))
    if given.command == "top":
        sys.exit(top.run(given))
    if given.command == "completion":
        sys.exit(completion.run(parser, given.shell))
    flags = {name.replace("_", "-"): value for name, value in vars(given).items()}
    if flags.pop("command") == "doctor":
        from hashrange.cli import doctor

        sys.exit(doctor.run(flags, os.environ))
    sys.exit(_serve(flags))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and flags."""
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
    triggers.add_commands(commands)
    design.add_commands(commands)
    data_commands.add_commands(commands)
    backups.add_commands(commands)
    data_directories.add_commands(commands)
    certificate.add_command(commands)
    top.add_command(commands)
    completion.add_command(commands)
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
