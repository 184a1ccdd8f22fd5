"""Finds the design a command is about: a file, or an attribute of a Python module."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import final

from hashrange.toolkit.design.documents import load_design
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A design, the file it comes from and the text of that file."""

    design: Design
    file: str
    text: str


def load_source(target: str) -> Source:
    """Load a design from `shop.toml` (.yaml, .json) or `package.module:NAME`."""
    path = Path(target)
    if path.suffix.lower() in (".toml", ".yaml", ".yml", ".json"):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise DesignError(f"{target} cannot be read: {error.strerror}") from error
        return Source(load_design(path), target, text)
    module_name, _, attribute = target.partition(":")
    if not attribute:
        raise DesignError(f"{target!r} is neither a design file nor module:attribute")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = import_module(module_name)
        design = getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        raise DesignError(f"{target} cannot be loaded: {error}") from error
    design = getattr(design, "design", design)  # a class of hashrange.toolkit.declarations
    if not isinstance(design, Design):
        raise DesignError(f"{target} is no Design")
    file = Path(module.__file__ or "")
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    return Source(design, str(shown), file.read_text(encoding="utf-8"))
