"""Checks of the built site: broken links, and requests to other servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes whose addresses a browser fetches by itself, by tag; those of <link> depend on `rel`, below.
_FETCHED = {
    "img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src",
    "object": "data", "input": "src",
}  # fmt: skip
_NOT_FETCHED = {"canonical", "prev", "next", "alternate", "license", "author", "me", "edit"}
_ADDRESS = re.compile(r"(?:https?:)?//")
_IN_CSS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """The links of a page, the ids of its elements, and the addresses that it fetches."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.links, self.fetched = set[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the ids, links and fetched addresses of a tag."""
        has = {name: value or "" for name, value in attrs}
        self.ids |= {has[name] for name in ("id", "name") if name in has}
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if tag == "link" and "href" in has and not _NOT_FETCHED & {*has.get("rel", "").split()}:
            self.fetched.append(has["href"])
        if has.get(_FETCHED.get(tag, "")):
            self.fetched.append(has[_FETCHED[tag]])
        self.fetched += [one.split()[0] for one in has.get("srcset", "").split(",") if one.strip()]
        self.fetched += _IN_CSS.findall(has.get("style", ""))


def read(site: Path) -> dict[Path, Page]:
    """Parse the pages of a site."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def dead_links(site: Path) -> Iterator[str]:
    """Yield broken links to pages, pictures and scripts of the site, and anchors without an element."""
    read_pages = read(site)
    for path, page in read_pages.items():
        if path.name == "404.html":  # its addresses are absolute, from the site's root
            continue
        for link in dict.fromkeys([*page.links, *page.fetched]):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link}: no such page"
            elif parts.fragment and target in read_pages and unquote(parts.fragment) not in read_pages[target].ids:
                yield f"{path.relative_to(site)}: {link}: no such place on that page"


def outside_requests(site: Path) -> Iterator[str]:
    """Yield the addresses that pages and style sheets fetch from other servers."""
    for path, page in read(site).items():
        yield from (f"{path.relative_to(site)} fetches {link}" for link in page.fetched if _ADDRESS.match(link))
        styles = re.findall(r"<style[^>]*>(.*?)</style>", path.read_text(encoding="utf-8"), re.DOTALL)
        yield from (f"{path.relative_to(site)} fetches {link}" for link in _IN_CSS.findall("\n".join(styles)))
    for path in sorted(site.rglob("*.css")):
        found = _IN_CSS.findall(path.read_text(encoding="utf-8"))
        yield from (f"{path.relative_to(site)} fetches {link}" for link in found)
