"""The PartiQL prompt: statements end with a semicolon, with history and completion.

    hashrange> SELECT * FROM "Music" WHERE "Artist" = 'Nina Simone';

Editing, history and completion are those of the readline library; without it, lines are read
plainly. A line that begins with a backslash is for the prompt itself: \\t lists tables, \\d TABLE
describes one, \\q leaves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, final

from botocore.exceptions import BotoCoreError, ClientError

from hashrange.cli.data.descriptions import facts_of
from hashrange.cli.data.views import show_items, show_table
from hashrange.toolkit.values import from_wire_item

_PROMPT: Final = "hashrange> "
_MORE: Final = "       ...> "
_HISTORY_LINES_MAX: Final = 1000
_KEYWORDS: Final = (
    "SELECT",
    "FROM",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "MISSING",
    "INSERT INTO",
    "VALUE",
    "UPDATE",
    "SET",
    "REMOVE",
    "DELETE FROM",
    "RETURNING ALL OLD *",
    "begins_with(",
    "contains(",
    "attribute_type(",
    "size(",
    "EXISTS(",
    "ORDER BY",
)


def run_statement(client: Any, statement: str, form: str) -> int:
    """Run a statement, show what it returns, and return how many items that were."""
    statement = statement.strip().rstrip(";")

    def items() -> Iterable[dict[str, Any]]:
        token: dict[str, str] = {}
        while True:
            answer = client.execute_statement(Statement=statement, **token)
            yield from map(from_wire_item, answer.get("Items", ()))
            if "NextToken" not in answer:
                return
            token = {"NextToken": answer["NextToken"]}

    return show_items(items(), form)


@final
class Prompt:
    """Reads statements and commands from the terminal or a pipe."""

    def __init__(self, client: Any, form: str) -> None:
        self._client = client
        self._form = form
        self._is_terminal = sys.stdin.isatty()
        self._names: list[str] = []
        self._has_failed = False

    def run(self) -> int:
        """Read until the end; return 1 if a statement from a pipe failed."""
        if self._is_terminal:
            self._set_up_editing()
            sys.stdout.write("PartiQL; end statements with ; — \\t tables, \\d TABLE, \\q quit\n")
        lines: list[str] = []
        while True:
            try:
                line = self._read(_MORE if lines else _PROMPT)
            except EOFError:
                self._finish(lines)
                break
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                lines = []
                continue
            if not lines and line.startswith("\\"):
                if line.strip() == "\\q":
                    break
                self._carry_out(line)
                continue
            lines.append(line)
            if line.rstrip().endswith(";"):
                self._finish(lines)
                lines = []
        return 1 if self._has_failed and not self._is_terminal else 0

    def _read(self, prompt: str) -> str:
        if self._is_terminal:
            return input(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _finish(self, lines: list[str]) -> None:
        statement = "\n".join(lines).strip()
        if not statement.rstrip(";").strip():
            return
        try:
            count = run_statement(self._client, statement, self._form)
        except (ClientError, BotoCoreError) as error:
            self._has_failed = True
            sys.stderr.write(f"{_reason(error)}\n")
        else:
            if self._is_terminal:
                sys.stdout.write(f"{count} item{'' if count == 1 else 's'}\n")

    def _carry_out(self, line: str) -> None:
        command, *arguments = line.split()
        try:
            if command == "\\t":
                for name in self._tables():
                    sys.stdout.write(f"{name}\n")
            elif command == "\\d" and len(arguments) == 1:
                table = self._client.describe_table(TableName=arguments[0])["Table"]
                expiry = self._client.describe_time_to_live(TableName=arguments[0])
                show_table(["setting", "value"], facts_of(table, expiry["TimeToLiveDescription"]))
            else:
                sys.stderr.write("\\t lists tables, \\d TABLE describes one, \\q leaves\n")
        except (ClientError, BotoCoreError) as error:
            self._has_failed = True
            sys.stderr.write(f"{_reason(error)}\n")

    def _tables(self) -> list[str]:
        pages = self._client.get_paginator("list_tables").paginate()
        return [name for page in pages for name in page["TableNames"]]

    def _set_up_editing(self) -> None:
        try:
            import readline
        except ImportError:
            return
        import atexit
        import contextlib

        path = Path(os.environ.get("HASHRANGE_HISTORY") or Path.home() / ".hashrange_history")
        with contextlib.suppress(OSError):
            readline.read_history_file(path)
        readline.set_history_length(_HISTORY_LINES_MAX)

        def keep() -> None:
            with contextlib.suppress(OSError):
                readline.write_history_file(path)
                path.chmod(0o600)

        atexit.register(keep)
        with contextlib.suppress(ClientError, BotoCoreError):
            self._names = [f'"{name}"' for name in self._tables()]
        readline.set_completer_delims(" \t\n,=<>(")
        readline.set_completer(self.complete)
        readline.parse_and_bind("tab: complete")

    def complete(self, text: str, state: int) -> str | None:
        """Return the state-th completion of a word: keywords and names of tables."""
        fitting = [word for word in _KEYWORDS if word.lower().startswith(text.lower())]
        fitting += [word for word in self._names if word.strip('"').startswith(text.strip('"'))]
        return fitting[state] if state < len(fitting) else None


def _reason(error: Exception) -> str:
    if isinstance(error, ClientError):
        answer = error.response["Error"]
        return f"{answer['Code']}: {answer.get('Message', '')}"
    return str(error)
