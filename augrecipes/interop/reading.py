"""Foreign configs as nodes with places: YAML, JSON and TOML, read and never run; and objects, where there is one.

More is allowed than in a recipe: anchors, aliases and merge keys, YAML 1.1's `yes` and `no`, and tuples that PyYAML
tagged. What else is tagged would be made by running code, and is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from augrecipes.errors import RecipeError
from augrecipes.interop.toml import read_toml
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar
from augrecipes.recipe.parse import YamlReader, read_nodes
from augrecipes.recipe.problems import Problems, reported

_WORDS = {"yes": True, "on": True, "no": False, "off": False}
_HALVES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_CORE = "tag:yaml.org,2002:"
_HARMLESS_TAGS = tuple(
    _CORE + name for name in ("python/tuple", "python/list", "float", "int", "bool", "null", "str", "map", "seq")
)


@dataclass(frozen=True, slots=True)
class Document:
    """What is to be imported.

    Attributes:
        file: as the user named it.
        top: the config; None where it is none of YAML, JSON and TOML.
        text: the file's text; empty for an object.
        value: the object, where the caller has one.
        warned: what albumentations warned of when that was run.
        key: which pipeline of the config the user named, as a path of keys joined by dots; empty: none.
        given: what the user says of values that the source does not tell, by their text: `{"cfg.size": 512}`.
        root: the folder that the files lie in which this one may name; None: it names none, as it is no file.
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
        """Where it starts."""
        return Place(self.file, 1, 1) if self.top is None else self.top.place


def is_python(file: str) -> bool:
    """Whether a file holds Python, by its name."""
    return Path(file).suffix in (".py", ".ipynb")


def read(path: str) -> Document:
    """A file as a document; of what is none of YAML, JSON and TOML the text alone.

    Raises:
        RecipeError: it cannot be read, or says what nobody should carry out.
    """
    text = _decoded(lambda problems: limits.read_bytes(path, path, problems), path)
    return replace(of_text(text, path), root=Path(path).parent)


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of a stream, as that of a file is read.

    Raises:
        RecipeError: too much of it, or no text.
    """
    return _decoded(lambda _: stream.read(limits.MAX_BYTES + 1), name)


def _decoded(read_bytes: Callable[[Problems], bytes], name: str) -> str:
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
    with suppress(RecipeError):  # of standard input, nobody says what it is; TOML may look like one text of YAML
        if not is_yaml:
            return Document(file, read_toml(text, file), text)
    # JSON writes characters beyond the first plane as two halves, which YAML does not know.
    text = _HALVES.sub(lambda pair: json.loads(f'"{pair[0]}"'), text)
    try:
        with reported() as problems:
            data = text.encode("utf-8", "surrogatepass")
            return Document(file, read_nodes(data, file, problems, _ConfigReader)[0], text)
    except RecipeError as error:
        if not is_yaml and any(problem.code in ("E104", "E105") for problem in error.problems):
            return Document(file, None, text)
        raise


class _ConfigReader(YamlReader):
    """Nodes of a config that somebody else's program reads."""

    def __init__(self, file: str, problems: Problems) -> None:
        super().__init__(file, problems)
        self._merges: dict[int, list[Node]] = {}  # what `<<` names, by the id of the mapping around it

    def take(self, event: Any) -> None:
        """Build on; a mapping that ends takes in what it merges."""
        if isinstance(event, yaml.MappingEndEvent) and isinstance(self._open[-1], MappingNode):
            _merge(self._open[-1], self._merges.pop(id(self._open[-1]), []))
        super().take(event)

    def events(self, parsed: Iterable[Any]) -> Iterator[Any]:
        """The events with aliases replaced by what they stand for. The consumer's limit ends what never would."""
        done: list[Any] = []
        opened: list[tuple[str | None, int]] = []  # anchors of lists and mappings that have not ended, and where
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
    """Keys that a mapping does not give itself, from the first that does."""
    for other in others:
        if isinstance(other, ListNode):
            _merge(owner, other.items)
        elif isinstance(other, MappingNode):
            for key, place, node in other.pairs():
                if key not in owner.entries:
                    owner.entries[key], owner.at[key] = node, place
