"""The reference of the Python interface: a page for each group of public names, from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import pages

import augrecipes

# Pages: title, and the packages whose names they have.
GROUPS = {
    "around": ("Around your pipeline", ("accelerate", "interop")),
    "recipes": ("Recipes", ("recipe", "lint", "compiler", "diff", "ops")),
    "datasets": ("Datasets", ("kinds", "data.samples", "sources", "images")),
    "loader": ("The loader", ("data.loader", "data.collate")),
    "packed": ("Packed datasets", ("packing", "store", "data.packed")),
    "views": ("Looking and comparing", ("preview", "studio", "bench", "trials", "verify")),
    "tta": ("Test-time augmentation", ("tta",)),
    "errors": ("Errors and warnings", ("errors",)),
    "drawn": ("Drawn data", ("demo",)),
}
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):\s*$", re.MULTILINE)
_WIDTH = 88  # characters in a line of code
_TITLES = {"Args": "Arguments"}
_ENTRY = re.compile(r"(\*{0,2}[\w.]+(?:, [\w.]+)*)(?: \(.*?\))?: (.*)", re.DOTALL)


def groups() -> dict[str, list[str]]:
    """Return the public names of each page.

    Raises:
        ValueError: a name's package is on no page of GROUPS.
    """
    found: dict[str, list[str]] = {page: [] for page in GROUPS}
    for name in augrecipes.__all__:
        if name != "__version__":
            found[_page_of(name)].append(name)
    return {page: sorted(names, key=str.lower) for page, names in found.items() if names}


def _page_of(name: str) -> str:
    home = getattr(augrecipes, name).__module__.removeprefix("augrecipes.")
    for page, (_, packages) in GROUPS.items():
        if any(home == package or home.startswith(f"{package}.") for package in packages):
            return page
    raise ValueError(f"{name} lives in {home}: add that to GROUPS in .ci/website/reference.py")


def names() -> dict[str, str]:
    """Return page and anchor of each public name and of the members of classes."""
    found = {}
    for page, listed in groups().items():
        for name in listed:
            found[name] = f"reference/{page}.md#{anchor(name)}"
            members = _members(getattr(augrecipes, name))
            found |= {f"{name}.{member}": f"reference/{page}.md#{anchor(name, member)}" for member, _ in members}
    return found


def anchor(*path: str) -> str:
    """Return the id of a heading."""
    return ".".join(("ar", *path))


def texts() -> dict[str, str]:
    """Return the pages of the reference by their paths in the site."""
    table = "\n".join(
        f"| [{GROUPS[page][0]}]({page}.md) | {', '.join(f'[`{name}`]({page}.md#{anchor(name)})' for name in listed)} |"
        for page, listed in groups().items()
    )
    head = "# The Python interface\n\nWhat `import augrecipes as ar` brings, made of the docstrings.\n\n"
    return {"reference/index.md": f"{head}| page | names |\n|---|---|\n{table}\n"} | {
        f"reference/{page}.md": f"# {GROUPS[page][0]}\n\n" + "\n".join(map(entry, listed))
        for page, listed in groups().items()
    }


def entry(name: str) -> str:
    """Return the text of a public name and its methods."""
    value = getattr(augrecipes, name)
    parts = [f"## `ar.{name}` {{#{anchor(name)}}}", *_described(value, f"ar.{name}")]
    for member, method in _members(value):
        parts += [f"### `{name}.{member}` {{#{anchor(name, member)}}}", *_described(method, member, member=True)]
    return "\n\n".join(parts) + "\n"


def _members(value: Any) -> list[tuple[str, Any]]:
    """Return the public methods and properties that augrecipes defines and documents, in order of definition."""
    if not inspect.isclass(value) or issubclass(value, Exception):
        return []
    found: dict[str, Any] = {}
    for base in reversed([base for base in value.__mro__ if base.__module__.startswith("augrecipes")]):
        found |= {
            name: member
            for name, member in vars(base).items()
            if not name.startswith("_") and _docstring(member) and _is_method(member)
        }
    return [*found.items()]


def _is_method(member: Any) -> bool:
    return isinstance(member, types.FunctionType | property | classmethod | staticmethod) or hasattr(member, "func")


def _docstring(value: Any) -> str:
    own = value.func if hasattr(value, "func") else value
    return inspect.cleandoc(own.__doc__ or "")


def _described(value: Any, name: str, *, member: bool = False) -> Iterator[str]:
    if code := signature(value, name, member=member):
        yield f"```python\n{code}\n```"
    yield from sections(_docstring(value))


def signature(value: Any, name: str, *, member: bool = False) -> str:
    """Return the signature of a callable, an argument per line if one line is too short; else nothing.

    >>> signature(lambda a, *, b=1: 0, "f")
    'f(a, *, b=1)'
    """
    if isinstance(value, staticmethod | classmethod):
        value, member = value.__func__, isinstance(value, classmethod)
    if not callable(value) or is_dataclass(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return ""
    listed = [*inspect.signature(value).parameters.values()][int(member) :]
    written, words = _written_types(value.__init__ if inspect.isclass(value) else value), list[str]()
    for k, one in enumerate(listed):
        if one.kind is one.KEYWORD_ONLY and all(before.kind is one.POSITIONAL_OR_KEYWORD for before in listed[:k]):
            words += ["*"] if "*" not in words else []
        words.append(_argument(one, written.get(one.name, one.annotation)))
    line = f"{name}({', '.join(words)})"
    return line if len(line) <= _WIDTH else f"{name}(\n" + "".join(f"    {word},\n" for word in words) + ")"


def _written_types(function: Any) -> dict[str, str]:
    """Return the types of a function's arguments as its source writes them, which may be names of longer types."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # not written in Python
        return {}
    args = next((node.args for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)), None)
    named = [] if args is None else [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return {one.arg: ast.unparse(one.annotation).strip("'") for one in named if one.annotation is not None}


def _argument(one: inspect.Parameter, annotation: Any) -> str:
    star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    kind = "" if star or annotation is one.empty else f": {_type(annotation)}"
    if one.default is one.empty:
        return f"{star}{one.name}{kind}"
    default = repr(one.default)
    default = "..." if default.startswith("<") else default
    return f"{one.name}{kind} = {default}" if kind else f"{one.name}={default}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)  # the class name without its modules
    return re.sub(r"^Optional\[(.*)\]$", r"\1 | None", text)


def sections(text: str) -> Iterator[str]:
    """Yield a docstring as Markdown: its text, and the entries of its sections as lists."""
    pieces = _SECTION.split(text)
    yield from _words(pieces[0])
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        inside, rest = _indented(body)
        yield f"**{_TITLES.get(title, title)}**"
        yield _entries(inside) if title not in ("Returns", "Yields") else "\n".join(_words(inside))
        yield from _words(rest)


def _indented(body: str) -> tuple[str, str]:
    """Split the indented lines of a section from the rest."""
    lines = body.strip("\n").split("\n")
    end = next((k for k, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return textwrap.dedent("\n".join(lines[:end])).strip(), "\n".join(lines[end:])


def _entries(text: str) -> str:
    entries = re.split(r"\n(?=\S)", text)
    lines = []
    for one in entries:
        words = " ".join(one.split())
        named = _ENTRY.fullmatch(words)
        lines.append(f"- `{named[1]}`: {escaped(named[2])}" if named else f"- {escaped(words)}")
    return "\n".join(lines)


def _words(text: str) -> Iterator[str]:
    """Yield paragraphs, with examples as blocks of code."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if not paragraph.strip():
            continue
        before, mark, example = paragraph.partition(">>> ")
        if before.strip():
            yield escaped(textwrap.dedent(before).rstrip())
        if mark:
            yield f"```pycon\n{mark}{example.rstrip()}\n```"


def escaped(text: str) -> str:
    """Escape angle brackets in a text, and link the pages of docs/ that it names.

    >>> escaped("<name> `<x>` docs/LOADING.md")
    '&lt;name> `<x>` [LOADING](../LOADING.md)'
    """
    linked = re.sub(r"`?\bdocs/(\w+)\.md`?", r"[\1](../\1.md)", text)
    return "\n".join(pages.outside_code(line, lambda part: part.replace("<", "&lt;")) for line in linked.split("\n"))
