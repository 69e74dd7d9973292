"""Checks built pages: links lead somewhere, nothing comes from a network, paragraphs are short.

python docs/check_site.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches by itself, by the attribute that names it."""

LONGEST = 600
"""Characters of a paragraph; who reads more of them at once is lost."""


class Page(HTMLParser):
    """The anchors of a page, what it links to and loads, and its paragraphs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.paragraphs: list[str] = []
        self._in_paragraph = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag of the page names."""
        named = {key: value for key, value in attributes if value is not None}
        if "id" in named:
            self.anchors.add(named["id"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in LOADED and LOADED[tag] in named:
            self.loaded.append(named[LOADED[tag]])
        if tag == "p":  # Sphinx makes one of the text of each item and cell as well
            self.paragraphs.append("")
            self._in_paragraph = True

    def handle_endtag(self, tag: str) -> None:
        """Note where a paragraph ends."""
        self._in_paragraph = self._in_paragraph and tag != "p"

    def handle_data(self, data: str) -> None:
        """Note the text of a paragraph."""
        if self._in_paragraph:
            self.paragraphs[-1] += data


def mistakes(site: Path) -> list[str]:
    """Return one line for each dead link, file from a network and paragraph that is too long."""
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        found += [
            f"{where}: expected a file of the site, it loads {url}"
            for url in page.loaded
            if urlsplit(url).netloc
        ]
        found += [
            f"{where}: leads nowhere: {link}"
            for link in [*page.links, *page.loaded]
            if not _leads_somewhere(link, path, pages)
        ]
        found += [
            f"{where}: expected paragraphs of at most {LONGEST} characters, one has {len(text)}: "
            f"{text[:60]}…"
            for text in (" ".join(one.split()) for one in page.paragraphs)
            if len(text) > LONGEST
        ]
    return found


def _leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not parts.fragment or target not in pages:
        return target.exists()
    return unquote(parts.fragment) in pages[target].anchors


if __name__ == "__main__":
    wrong = mistakes(Path(sys.argv[1]).resolve())
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(bool(wrong))
