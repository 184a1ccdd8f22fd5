"""The commands besides `serve` and `doctor`: their arguments, and which module runs each."""

from __future__ import annotations

import argparse
import os
from typing import Any

from hashrange.cli import backups, certificate, completion, data_directories, design, top, triggers
from hashrange.cli.copying import command as copying
from hashrange.cli.data import commands as data_commands


def add_to(commands: Any) -> None:
    """Add the commands to a parser's."""
    triggers.add_commands(commands)
    design.add_commands(commands)
    data_commands.add_commands(commands)
    copying.add_command(commands)
    backups.add_commands(commands)
    data_directories.add_commands(commands)
    certificate.add_command(commands)
    top.add_command(commands)
    completion.add_command(commands)


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run the command that was given; return its exit status."""
    name = given.command
    if name == "triggers":
        return triggers.run(given)
    if name == "design":
        return design.run(given)
    if name in data_commands.NAMES:
        return data_commands.run(given)
    if name == "copy":
        return copying.run(given)
    if name == "backup":
        return backups.run(given, os.environ)
    if name in data_directories.COMMANDS:
        return data_directories.run(given, os.environ)
    if name == "certificate":
        return certificate.run(given)
    if name == "top":
        return top.run(given)
    assert name == "completion"
    return completion.run(parser, given.shell)
