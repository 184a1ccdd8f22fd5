"""Completes the site when MkDocs builds it: pages from outside docs/, the navigation, the links.

ARCHITECTURE.md and CHANGELOG.md become pages. Links to other files outside docs/, which a site does
not have, become plain text. Pages that the navigation in mkdocs.yml does not name are added to
their sections, and the decision records are listed on their first page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)")
_SECTIONS = {"guides": "How to", "toolkit": "Toolkit", "internals": "Explanation"}
# Files at the root that become pages, by the address of the page.
_ROOT_PAGES = {"architecture.md": "ARCHITECTURE.md", "changelog.md": "CHANGELOG.md"}


_DECISIONS = "decisions/README.md"


def on_config(config: Any) -> Any:
    """Add the pages that the navigation does not name."""
    docs = Path(config["docs_dir"])
    named = set(re.findall(r"[\w/.-]+\.md", str(config["nav"])))
    for folder, title in _SECTIONS.items():
        section = next(entry[title] for entry in config["nav"] if title in entry)
        for path in sorted((docs / folder).glob("*.md")):
            name = path.relative_to(docs).as_posix()
            if name not in named:
                section.append(name)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are files at the root."""
    from mkdocs.structure.files import File

    for address, name in _ROOT_PAGES.items():
        files.append(File.generated(config, address, content=(_ROOT / name).read_text()))
    return files


def _list_of(paths: list[Path]) -> str:
    """Return a list of links to pages of one folder, by their titles."""
    titles = (path.read_text().partition("\n")[0].lstrip("# ") for path in paths)
    lines = [f"- [{title}]({path.name})" for title, path in zip(titles, paths, strict=True)]
    return "\n\n" + "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links at pages of the site, and turn those to files that are none into their text."""
    docs = Path(config["docs_dir"]).resolve()
    here = Path(page.file.src_uri)
    if str(here) == _DECISIONS:
        markdown += _list_of(sorted((docs / here).parent.glob("[0-9]*.md")))
    # Links are written as seen from the file: at the root for pages that come from there.
    folder = _ROOT if str(here) in _ROOT_PAGES else (docs / here).parent
    pages = {_ROOT / name: docs / address for address, name in _ROOT_PAGES.items()}

    def replace(match: re.Match[str]) -> str:
        text, (target, hash_sign, anchor) = match[1], match[2].partition("#")
        if not target:
            return match[0]
        path = (folder / target).resolve()
        path = pages.get(path, path / "README.md" if path.is_dir() else path)
        if not path.is_relative_to(docs) or not (path.is_file() or path in pages.values()):
            return text
        address = Path(os.path.relpath(path, (docs / here).parent)).as_posix()
        return f"[{text}]({address}{hash_sign}{anchor})"

    return _LINK.sub(replace, markdown)
