"""Document: a foreign config as nodes with places (YAML, JSON and TOML, read and never run), or an object.

More is allowed than in a recipe: anchors, aliases and merge keys, YAML 1.1's `yes` and `no`, and PyYAML's tags of
tuples. Other tags would run code, and are errors.

`tomllib` reports no places. A TOML statement is the shortest run of lines that is valid TOML: each is parsed alone, and
its keys get the place where it begins.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.interop.budget import bounded, spend
from augrecipes.recipe import limits, parse
from augrecipes.recipe.limits import MAX_DEPTH
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar, from_value
from augrecipes.recipe.problems import Problems, reported

_WORDS = {"yes": True, "on": True, "no": False, "off": False}
_HALVES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_CORE = "tag:yaml.org,2002:"
_HARMLESS_TAGS = tuple(
    _CORE + name for name in ("python/tuple", "python/list", "float", "int", "bool", "null", "str", "map", "seq")
)


@dataclass(frozen=True, slots=True)
class Document:
    """A source to import.

    Attributes:
        file: the file as the user named it.
        top: the config; None if it is not YAML, JSON or TOML.
        text: the file's text; empty for an object.
        value: the object, if the source is one.
        warned: albumentations' warnings when the object was created.
        key: the pipeline that the user named, as keys joined by dots; empty: none.
        given: the user's values for unknown expressions, by their text: `{"cfg.size": 512}`.
        root: the folder of files that this one may refer to; None if it is no file.
    """

    file: str
    top: Node | None = None
    text: str = ""
    value: Any = None
    warned: tuple[str, ...] = ()
    key: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    root: Path | None = None

    @property
    def place(self) -> Place:
        """The start of the document."""
        return Place(self.file, 1, 1) if self.top is None else self.top.place


def is_python(file: str) -> bool:
    """Whether a file name is that of a Python file."""
    return Path(file).suffix == ".py"


def read(path: str) -> Document:
    """A file as a document; without `top` if it is not YAML, JSON or TOML.

    Raises:
        RecipeError: the file cannot be read, or has tags that would run code.
    """
    text = _decode(lambda problems: limits.read_bytes(path, path, problems), path)
    return replace(of_text(text, path), root=Path(path).parent)


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of a stream, with the checks for files.

    Raises:
        RecipeError: it is too long, or not text.
    """
    return _decode(lambda _: stream.read(limits.MAX_BYTES + 1), name)


def _decode(read_bytes: Callable[[Problems], bytes], name: str) -> str:
    with reported() as problems:
        return limits.decode(read_bytes(problems), name, problems, yaml=False)  # Python may hold form feeds


def of_text(text: str, file: str) -> Document:
    """A text as a document.

    >>> of_text("a: &x {p: yes}\\nb: *x", "f.yaml").top.entries["b"].entries["p"].value
    True
    """
    if is_python(file):
        return Document(file, None, text)
    kind = Path(file).suffix
    if kind == ".toml":
        return Document(file, read_toml(text, file), text)
    is_yaml = kind in (".yaml", ".yml", ".json")
    with suppress(RecipeError):  # standard input has no extension; TOML may look like a YAML scalar
        if not is_yaml:
            return Document(file, read_toml(text, file), text)
    # JSON writes characters beyond the BMP as surrogate pairs, which YAML does not know.
    text = _HALVES.sub(lambda pair: json.loads(f'"{pair[0]}"'), text)
    try:
        with reported() as problems:
            data = text.encode("utf-8", "surrogatepass")
            return Document(file, parse.read_nodes(data, file, problems, _ConfigReader)[0], text)
    except RecipeError as error:
        if not is_yaml and any(problem.code in ("E104", "E105") for problem in error.problems):
            return Document(file, None, text)
        raise


class _ConfigReader(parse.YamlReader):
    """A YAML reader for other programs' configs."""

    def __init__(self, file: str, problems: Problems) -> None:
        super().__init__(file, problems)
        self._merges: dict[int, list[Node]] = {}  # the values of `<<`, by the id of their mapping

    def take(self, event: Any) -> None:
        """Process an event; at its end, a mapping gets the keys of its merges."""
        if isinstance(event, yaml.MappingEndEvent) and isinstance(self._open[-1], MappingNode):
            _merge(self._open[-1], self._merges.pop(id(self._open[-1]), []))
        super().take(event)

    def events(self, parsed: Iterable[Any]) -> Iterator[Any]:
        """Yield the events with aliases replaced by their anchors' events; the consumer limits their number."""
        done: list[Any] = []
        opened: list[tuple[str | None, int]] = []  # anchors and starts of unfinished lists and mappings
        anchored: dict[str, slice] = {}
        for event in parsed:
            anchor, start = getattr(event, "anchor", None), len(done)
            is_alias = isinstance(event, yaml.AliasEvent)
            more = done[anchored[anchor]] if is_alias and anchor in anchored else [event]
            done += more
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append((anchor, start))
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, start = opened.pop()
            if anchor and not is_alias:
                if not isinstance(event, yaml.CollectionStartEvent):
                    anchored[anchor] = slice(start, len(done))
                event.anchor = None
            yield from more

    def _node(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            message = f"*{event.anchor} names nothing that ends before it"
            raise self.problems.stop("E108", self._place(event), message, "alias")
        if event.tag in _HARMLESS_TAGS:
            if isinstance(event, yaml.ScalarEvent) and not event.style:
                event.implicit = (event.tag != f"{_CORE}str", False)
            event.tag = None
        super()._node(event)

    def _scalar(self, event: Any, place: Place) -> Scalar:
        if event.implicit[0] and event.value.lower() in _WORDS:
            return Scalar(_WORDS[event.value.lower()], place, event.value)
        return super()._scalar(event, place)

    def _add(self, node: Node) -> None:
        key = self._keys[-1] if self._open else None
        if key is not None and key.value == "<<" and isinstance(self._open[-1], MappingNode):
            self._keys[-1] = None
            self._merges.setdefault(id(self._open[-1]), []).append(node)
            return
        super()._add(node)


def _merge(owner: MappingNode, others: list[Node]) -> None:
    """Add keys that a mapping lacks, from the first of the others that has them."""
    for other in others:
        if isinstance(other, ListNode):
            _merge(owner, other.items)
        elif isinstance(other, MappingNode):
            for key, place, node in other.pairs():
                if key not in owner.entries:
                    owner.entries[key], owner.at[key] = node, place


_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_Path = tuple[str | int, ...]


def read_toml(text: str, file: str) -> Node:
    """A TOML text as a mapping.

    Raises:
        RecipeError: it is not valid TOML, with line and column; or it is too large.

    >>> read_toml("[a]\\n'b' = [ # a list\\n  1 ]\\nc.d = 2", "f.toml").entries["a"].at["c"].line
    4
    """
    text = text.replace("\r\n", "\n")
    line, col = 1, 1
    try:
        with bounded(file):
            values, places = tomllib.loads(text), [*_places(text, file)]
            return _node(values, (), dict(reversed(places)), Place(file, 1, 1))  # the first place of a path counts
    except tomllib.TOMLDecodeError as error:
        message, at = _AT.sub("", str(error)), _AT.search(str(error))
        line, col = (int(at[1]), int(at[2])) if at and at[1] else (text.rstrip("\n").count("\n") + 1, 1)
        if "\\" in text.split("\n")[line - 1]:
            message += "; a backslash is an escape between double quotes: write paths in single quotes, or with /"
    except RecursionError:
        message = "it is nested too deeply"
    raise RecipeError(problems=[Diagnostic(f"no TOML: {message}", line, col, "E603", "import", file)])


def _places(text: str, file: str) -> Iterator[tuple[_Path, Place]]:
    """Yield the path of every key and of every element of an array of tables, and the place of its statement."""
    table: _Path = ()
    last: dict[_Path, int] = {}  # the current element of each array of tables
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        lines.append(line)
        spend(len(lines))
        try:
            value: Any = tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError:
            continue
        start = lines[0].lstrip()
        place = Place(file, number - len(lines) + 1, 1 + len(lines[0]) - len(start))
        lines = []
        is_header = start.startswith("[")
        path = () if is_header else table
        while isinstance(value, dict) and len(value) == 1:  # nested keys; all others have the same place
            ((key, value),) = value.items()
            path = (*path, key)
            yield path, place
            if is_header and isinstance(value, list):
                value, last[path] = value[0], last.get(path, -1) + 1
            if path in last:
                path = (*path, last[path])
                yield path, place
        table = path if is_header else table


def _node(value: Any, path: _Path, places: dict[_Path, Place], place: Place) -> Node:
    """A value as a node; dates and huge numbers become text."""
    if len(path) > MAX_DEPTH:
        raise RecursionError
    place = places.get(path, place)
    if isinstance(value, dict):
        entries = {key: _node(inner, (*path, key), places, place) for key, inner in value.items()}
        return MappingNode(entries, place, {key: node.place for key, node in entries.items()})
    if isinstance(value, list):
        return ListNode([_node(inner, (*path, index), places, place) for index, inner in enumerate(value)], place)
    is_plain = isinstance(value, str) or (isinstance(value, int | float) and abs(value) < 2**63)
    return from_value(value if is_plain else str(value), place)
