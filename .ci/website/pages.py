"""The Markdown sources of the site: docs/ and some pages from elsewhere, with links rewritten for the site.

Pages of the repository link to files as GitHub shows them. In the site, a link to a page leads to that page, a link to
a gallery recipe to the recipe's page, a link to a picture to its copy, and any other link to the repository.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/augrecipes/augrecipes"
PICTURES = (".jpg", ".png", ".svg")
# Pages outside docs/ by their path in the repository.
ELSEWHERE = {
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/RESULTS.md": "RESULTS.md",
}
CARDS = "<!-- recipes -->"  # a comment, so that GitHub shows nothing here
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_API = re.compile(r"(?<![\w\[`])`ar\.(\w+)((?:\.\w+)*)([^`\n]*)`(?![\w`])")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def config() -> dict[str, Any]:
    """Read mkdocs.yml."""
    return dict(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8")))


def navigation(entries: Any = None, section: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (section, title, page) of each entry of the navigation, from top to bottom."""
    for entry in config()["nav"] if entries is None else entries:
        ((title, value),) = entry.items() if isinstance(entry, dict) else ((entry, entry),)
        if isinstance(value, list):
            yield from navigation(value, section or title)
        else:
            yield section, title, value


def sources() -> dict[str, str]:
    """Return the pages of the site by the path of their source in the repository."""
    docs = {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix() for path in _docs("*.md")}
    recipes = {f"recipes/{path.name}": f"gallery/{path.stem}.md" for path in sorted((ROOT / "recipes").glob("*.yaml"))}
    return docs | ELSEWHERE | recipes


def _docs(pattern: str) -> list[Path]:
    return sorted((ROOT / "docs").rglob(pattern))


def prose(text: str, change: Callable[[str], str]) -> str:
    """Change the lines of a Markdown text outside blocks of code.

    >>> prose("a\\n```\\na\\n```\\na", str.upper)
    'A\\n```\\na\\n```\\nA'
    """
    fence, lines = "", []
    for line in text.split("\n"):
        opening = re.match(r"\s*(`{3,}|~{3,})", line)
        if opening and (not fence or line.strip() == fence):
            fence = "" if fence else opening[1]
        lines.append(line if fence or opening else change(line))
    return "\n".join(lines)


def outside_code(line: str, change: Callable[[str], str]) -> str:
    """Change a line outside its code spans.

    >>> outside_code("a `a` a", str.upper)
    'A `a` A'
    """
    done, position = [], 0
    for code in _CODE.finditer(line):
        done += [change(line[position : code.start()]), code[0]]
        position = code.end()
    return "".join([*done, change(line[position:])])


def staged(text: str, source: str, page: str, names: dict[str, str], picture: Callable[[str], None]) -> str:
    """Return a Markdown text of the repository with its links rewritten for a page of the site.

    Args:
        text: the Markdown.
        source: path of the text in the repository, which its links are relative to.
        page: path of the page in the site, which the rewritten links are relative to.
        names: page and anchor of each public name.
        picture: called with the repository path of each picture or file that the site needs a copy of.
    """
    paths = sources()

    def target(found: re.Match[str]) -> str:
        link, _, anchor = found[1].partition("#")
        if not link or ":" in link:
            return found[1]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        suffix = f"#{anchor}" if anchor else ""
        if path in paths:
            return relative(paths[path], page) + suffix
        if path.endswith(PICTURES) or (path.startswith("docs/") and (ROOT / path).is_file()):
            picture(path)
            return relative(copied(path), page)
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{REPOSITORY}/{kind}/main/{path}{suffix}"

    def name(found: re.Match[str]) -> str:
        home = names.get(f"{found[1]}{found[2]}") or names.get(found[1])
        return f"[{found[0]}]({relative(home, page)})" if home else found[0]

    def line(text: str) -> str:
        linked = outside_code(text, lambda part: LINK.sub(target, part))
        inside = text.startswith("#") or page.startswith("reference/")
        return linked if inside else outside_links(linked, lambda part: _API.sub(name, part))

    return prose(text, line)


def outside_links(line: str, change: Callable[[str], str]) -> str:
    """Change a line outside its links."""
    pieces = re.split(r"(!?\[[^\]]*\]\([^)]*\))", line)
    return "".join(piece if k % 2 else change(piece) for k, piece in enumerate(pieces))


def copied(path: str) -> str:
    """Return the path in the site of a copied file of the repository."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"pictures/{posixpath.basename(path)}"


def relative(target: str, page: str) -> str:
    """Return the relative link from a page to another; an anchor of the target stays.

    >>> relative("gallery/sr-x4.md#yaml", "tasks/x.md"), relative("OPS.md", "index.md")
    ('../gallery/sr-x4.md#yaml', 'OPS.md')
    """
    path, _, anchor = target.partition("#")
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")


def stage(out: Path, names: dict[str, str], cards: Callable[[str], str]) -> None:
    """Write the pages of docs/ and from elsewhere below `out`, with the files that they show.

    Args:
        out: the folder.
        names: page and anchor of each public name.
        cards: returns the text that replaces CARDS on a page.
    """
    for path in _docs("*"):
        if path.is_file() and path.suffix != ".md":
            copy(path.relative_to(ROOT).as_posix(), out)
    for source, page in sources().items():
        if source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            text = staged(text, source, page, names, lambda path: copy(path, out))
            write(out / page, text.replace(CARDS, cards(page)) if CARDS in text else text)


def copy(path: str, out: Path) -> None:
    """Copy a file of the repository to its place in the site."""
    target = out / copied(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, target)


def write(path: Path, text: str) -> None:
    """Write a page, and create missing folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8", newline="\n")


def summary(text: str) -> str:
    """Return the first sentence of a Markdown page as plain text.

    >>> summary("# A\\n\\n![x](y)\\n\\nOne [two](z) `three`. Four.\\n")
    'One two three.'
    """
    paragraphs = re.split(r"\n\s*\n", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    first = next((one for one in paragraphs if not re.match(r"[#!<`|>\-*{]", one.lstrip())), "")
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split())).replace("`", "").replace("*", "")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", words, maxsplit=1)[0].rstrip(":")


def llms(docs: Path, site: Path) -> None:
    """Write llms.txt, llms-full.txt, and each page as Markdown beside it (https://llmstxt.org)."""
    settings, sections, everything = config(), dict[str, list[str]](), list[str]()
    for section, title, page in navigation():
        if ":" in page:
            continue
        text = (docs / page).read_text(encoding="utf-8")
        about = summary(text)
        entry = f"- [{title}]({settings['site_url']}{page})" + (f": {about}" if about else "")
        sections.setdefault(section or "Start", []).append(entry)
        write(site / page, text)
        if page != "RESULTS.md":
            everything.append(text.rstrip())
    parts = [f"# {settings['site_name']}\n\n> {settings['site_description']}"]
    parts += [f"## {section}\n\n" + "\n".join(entries) for section, entries in sections.items()]
    write(site / "llms.txt", "\n\n".join(parts))
    write(site / "llms-full.txt", "\n\n".join(everything))


def clear(folder: Path) -> Path:
    """Replace a folder by an empty one, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
