"""Completes the site when MkDocs builds it: the architecture page, the navigation, the links.

Pages link to files of the repository outside docs/, which a site does not have: such links become
plain text. Pages that the navigation in mkdocs.yml does not name are added to their sections.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)")
_SECTIONS = {"guides": "How to", "toolkit": "Toolkit", "internals": "Explanation"}


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


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn links to files outside docs/ into their text."""
    docs = Path(config["docs_dir"]).resolve()
    folder = Path(page.file.abs_src_path).parent

    def replace(match: re.Match[str]) -> str:
        text, target = match[1], match[2].partition("#")[0]
        if not target:
            return match[0]
        path = (folder / target).resolve()
        return match[0] if path.is_relative_to(docs) and path.is_file() else text

    return _LINK.sub(replace, markdown)
