"""Design files as pytest tests: `*.design.toml` (or .yaml, .json) gives a test per pattern.

One test, `check`, holds the design to the standards; the others run the access patterns on
generated data in this process and fail on exceeded budgets. The patterns of a file share one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

import pytest

from hashrange.toolkit.checker.check import check_design
from hashrange.toolkit.checker.text_output import text_of
from hashrange.toolkit.design.documents import load_design
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.rehearsal.rehearse import Rehearsal, Settings, rehearse

SUFFIXES: Final = (".design.toml", ".design.yaml", ".design.yml", ".design.json")


class DesignFailure(Exception):
    """A design does not hold; the text says why."""


def rehearse_locally(design: Design, settings: Settings | None = None) -> Rehearsal:
    """Run the patterns of a design on a fresh database in this process."""
    from hashrange.testing import local

    with local() as database:
        return rehearse(design, database.client(), settings or Settings())


@final
class DesignFile(pytest.File):
    """A design file among the tests."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            self.design = load_design(self.path)
        except DesignError as error:
            raise self.CollectError(str(error)) from error
        self._rehearsal: Rehearsal | None = None
        yield CheckItem.from_parent(self, name="check")
        for pattern in self.design.patterns:
            yield PatternItem.from_parent(self, name=pattern.name)

    @property
    def rehearsal(self) -> Rehearsal:
        if self._rehearsal is None:
            self._rehearsal = rehearse_locally(self.design)
        return self._rehearsal


class _DesignItem(pytest.Item):
    """A test of a design file."""

    @property
    def file(self) -> DesignFile:
        assert isinstance(self.parent, DesignFile)
        return self.parent

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, DesignFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}::{self.name}"


@final
class CheckItem(_DesignItem):
    """Holds the design to the standards."""

    def runtest(self) -> None:
        verdict = check_design(self.file.design, datetime.now(UTC).date())
        if verdict.fails("error"):
            raise DesignFailure(text_of(verdict, name=self.file.design.name))


@final
class PatternItem(_DesignItem):
    """Runs one access pattern."""

    def runtest(self) -> None:
        results = self.file.rehearsal.results
        (result,) = [each for each in results if each.pattern.name == self.name]
        if result.problems:
            raise DesignFailure("\n".join(result.problems))
