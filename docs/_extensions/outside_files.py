"""Links from a page to files outside of `docs/`, such as an example, lead to a copy in the site.

So the same link works where the repository is read in a browser, and in the built pages.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

PAGES = {
    "CHANGELOG.md": "inside/changelog.md",
    "CONTRIBUTING.md": "inside/extending.md",
    "src/residuum/analysis/README.md": "inside/analysis.md",
    "src/residuum/analysis/bounds/README.md": "inside/bounds.md",
    "src/residuum/circuits/README.md": "inside/circuits.md",
    "src/residuum/losses/README.md": "inside/losses.md",
    "src/residuum/study/README.md": "inside/study.md",
    "src/residuum/training/README.md": "inside/training.md",
}
"""Documents outside of `docs/`, and the pages that include them."""

LINK = re.compile(r"(\]\()([^)#:\s]+\.md)((?:#[^)]*)?\))")


def lead_to_pages(text: str, folder: Path, docs: Path) -> str:
    """Return Markdown of a folder with links to pages, and to `PAGES`, as seen from `docs`."""

    def lead(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[2]))
        page = PAGES.get(os.path.relpath(target, docs.parent).replace(os.sep, "/"))
        if page is None and target.is_relative_to(docs):
            page = target.relative_to(docs).as_posix()
        return f"{match[1]}/{page}{match[3]}" if page else match[0]

    return LINK.sub(lead, text)


def _read_page(app: Sphinx, name: str, source: list[str]) -> None:
    docs = Path(app.srcdir)
    source[0] = lead_to_pages(source[0], (docs / name).parent, docs)


def _read_included(app: Sphinx, path: Path, _parent: str, source: list[str]) -> None:
    docs = Path(app.srcdir)
    source[0] = lead_to_pages(source[0], Path(os.path.normpath(docs / path)).parent, docs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Change links when a page is read, and when a file is included in one."""
    app.connect("source-read", _read_page)
    app.connect("include-read", _read_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
