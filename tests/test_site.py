"""The site of docs/: its navigation has every page once, its links lead somewhere, and it asks no other server."""

import doctest
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import augrecipes as ar
from augrecipes.cli.commands import COMMANDS

ROOT = Path(__file__).parent.parent
CODE = ROOT / ".ci" / "website"


@pytest.fixture(scope="module")
def website() -> Iterator[dict[str, ModuleType]]:
    """The modules that make the site, by their names."""
    names = [path.stem for path in sorted(CODE.glob("*.py"))]
    sys.path.insert(0, str(CODE))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(CODE))
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def texts(website: dict[str, ModuleType]) -> dict[str, str]:
    """Every page of the site as Markdown, by its path, as it is built from; the cards of recipes are left out."""
    pages, names = website["pages"], website["reference"].names()
    found = website["gallery"].texts() | website["reference"].texts() | website["commands"].texts()
    for source, page in pages.sources().items():
        if source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            found[page] = pages.staged(text, source, page, names, lambda path: None)
    return found


def slug(heading: str) -> str:
    """The id that GitHub, and the site, give a heading.

    >>> slug("## `ar.loader`, and *what* it does")
    'arloader-and-what-it-does'
    """
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip())
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def places(text: str) -> set[str]:
    """The anchors of a page of Markdown."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ .*", bare, re.MULTILINE)
    named = (re.search(r"\{#([^}]+)\}", heading) for heading in headings)
    return {found[1] if found else slug(heading) for found, heading in zip(named, headings, strict=True)}


def dead(pages: dict[str, str], files: set[str]) -> list[str]:
    """Links between pages that lead to no page, no file, or no heading."""
    found = []
    for page, text in pages.items():
        bare = re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
        for link in re.findall(r"(?<=\]\()[^)\s]+(?=\))", bare):
            path, _, anchor = link.partition("#")
            target = ((ROOT / page).parent / path).resolve().relative_to(ROOT).as_posix() if path else page
            if ":" in link:
                continue
            if target in pages and anchor and anchor not in places(pages[target]):
                found.append(f"{page}: {link}: no such heading")
            elif target not in pages and target not in files:
                found.append(f"{page}: {link}: no such file")
    return found


def test_every_page_is_in_the_navigation_once(website: dict[str, ModuleType], texts: dict[str, str]) -> None:
    listed = Counter(page for _, _, page in website["pages"].navigation() if ":" not in page)
    assert {page: count for page, count in listed.items() if count > 1} == {}
    assert set(listed) ^ set(texts) == set()


def test_links_of_docs_lead_somewhere_in_the_repository() -> None:
    """As GitHub shows them: files and headings."""
    paths = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    pages = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("[!.]*/**/*")} | {"LICENSE"}
    assert dead(pages, files) == []
    planted = {"docs/planted.md": "[a](CODES.md#nowhere) [b](../tests/none.py) `[c](x.md)` [d](OPS.md) [e](../LICENSE)"}
    assert [fault.split(": ")[1] for fault in dead(pages | planted, files)] == ["CODES.md#nowhere", "../tests/none.py"]


def test_links_of_the_site_lead_somewhere(website: dict[str, ModuleType], texts: dict[str, str]) -> None:
    """To its own pages, or to a file of the repository that is there."""
    pages = website["pages"]
    shown = {page: text for page, text in texts.items() if not page.startswith("gallery/")}
    copied = {pages.copied(path.relative_to(ROOT).as_posix()) for path in ROOT.glob("*/**/*.*g")}
    files = copied | {"steps.html", "tour.ipynb", *(page for page in texts if page.startswith("gallery/"))}
    assert dead(shown, files) == []
    address = re.compile(re.escape(pages.REPOSITORY) + r"/(?:blob|tree)/main/([^)\s#]+)")
    named = {path for text in texts.values() for path in address.findall(text)}
    assert named
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_every_public_name_is_in_the_reference_once(texts: dict[str, str]) -> None:
    reference = "\n".join(text for page, text in texts.items() if page.startswith("reference/"))
    headings = Counter(re.findall(r"^## `ar\.(\w+)`", reference, re.MULTILINE))
    assert headings == Counter(set(ar.__all__) - {"__version__"})


def test_the_reference_says_how_a_function_is_called_and_what_it_takes(website: dict[str, ModuleType]) -> None:
    text = website["reference"].entry("loader")
    assert "num_workers: int | Literal['auto'] | None = None,\n" in text
    assert re.search(r"^- `num_workers`: \S", text, re.MULTILINE)
    assert ">>> " in text
    assert "### `Recipe.compile`" in website["reference"].entry("Recipe")


def test_a_name_without_a_page_is_an_error(website: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    reference = website["reference"]
    monkeypatch.setattr(reference, "GROUPS", {page: group for page, group in reference.GROUPS.items() if page != "tta"})
    with pytest.raises(ValueError, match="add that to GROUPS"):
        reference.groups()


def test_every_command_is_on_the_page_of_commands_with_all_that_it_takes(texts: dict[str, str]) -> None:
    """As argparse knows it, which also reads the words of users."""
    page = texts["reference/commands.md"]
    sections = dict(re.findall(r"^## `augrecipes ([\w-]+)`.*?\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert [*sections] == [command.name for command in COMMANDS]
    for command in COMMANDS:
        options = set(re.findall(r"--[a-z][a-z-]*", command.parser().format_help()))
        text = sections[command.name]
        assert {option for option in options if f"`{option}" not in text} == {"--help"}
        assert all(f"`{how['metavar']}`" in text for names, how in command.arguments if names[0][0] != "-")
        assert f"| [`{command.name}`](#{command.name}) | " in page
        assert text.count("```") % 2 == 0
        assert "%%" not in text
        assert "[default" not in text


def test_every_recipe_of_the_gallery_is_on_the_page_of_a_task(website: dict[str, ModuleType]) -> None:
    tasks = website["gallery"].tasks()
    assert {name for names in tasks.values() for name in names} == set(ar.gallery_names())
    assert all(tasks.values())


def test_code_stays_as_it_is(website: dict[str, ModuleType]) -> None:
    """Links are changed in words alone, and names of the package become links to the reference."""
    staged, names = website["pages"].staged, {"loader": "reference/loader.md#ar.loader"}
    text = "[a](OPS.md) `ar.loader(x)` `[a](OPS.md)` [`ar.loader`](OPS.md)\n```\n[a](../README.md) `ar.loader`\n```"
    assert staged(text, "docs/tasks/x.md", "tasks/x.md", names, print) == (
        "[a](https://github.com/augrecipes/augrecipes/blob/main/docs/tasks/OPS.md) "
        "[`ar.loader(x)`](../reference/loader.md#ar.loader) `[a](OPS.md)` "
        "[`ar.loader`](https://github.com/augrecipes/augrecipes/blob/main/docs/tasks/OPS.md)\n"
        "```\n[a](../README.md) `ar.loader`\n```"
    )


def test_examples(website: dict[str, ModuleType]) -> None:
    results = {name: doctest.testmod(module) for name, module in website.items()}
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) >= 6


def test_faults_of_a_built_site_are_found(website: dict[str, ModuleType], tmp_path: Path) -> None:
    """Planted: one of each kind, beside links that are good."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "index.html").write_text('<h1 id="top"></h1><a href="#top"></a><a href="..">', encoding="utf-8")
    page = (
        '<a href="a/#top"></a><a href="a/#nowhere"></a><a href="b/"></a><a href="https://example.org"></a>'
        '<img src="none.png"><script src="//example.org/x.js"></script><link rel="canonical" href="https://example.org">'
        "<style>@import 'https://example.org/x.css'; p {background: url(data:x)}</style>"
    )
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    (tmp_path / "x.css").write_text("@font-face { src: url(https://example.org/x.woff2) }", encoding="utf-8")
    check = website["check"]
    assert [problem.split(": ")[1] for problem in check.dead_links(tmp_path)] == ["a/#nowhere", "b/", "none.png"]
    assert [problem.partition(" fetches ")[2] for problem in check.outside_requests(tmp_path)] == [
        "//example.org/x.js", "https://example.org/x.css", "https://example.org/x.woff2",
    ]  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="zensical is not installed: make site")
def test_the_built_site_is_whole(website: dict[str, ModuleType], tmp_path: Path) -> None:
    site = website["build"].build(tmp_path, shrink=4)
    check = website["check"]
    assert [*check.dead_links(site), *check.outside_requests(site)] == []
    pages = [page for _, _, page in website["pages"].navigation() if ":" not in page]
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    assert listed.startswith("# augrecipes\n\n> ")
    assert [page for page in pages if f"/{page})" not in listed or not (site / page).is_file()] == []
    assert "## `ar.loader`" in (site / "llms-full.txt").read_text(encoding="utf-8")
    assert (site / "search.json").is_file()
