"""`load`: from a gallery name, a file, text or a mapping to a Recipe. Only this module reads YAML."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import yaml

from augrecipes.recipe import document, gallery, limits, model, variants, write
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, NumberError, Place, Scalar, plain, resolve
from augrecipes.recipe.problems import Problems, reported

# libyaml's event parser keeps its state on the heap, so deep nesting cannot overflow the stack; `_node` bounds it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Source = str | os.PathLike[str] | Mapping[str, Any]  # what `load` takes


def load(
    source: Source, *, overrides: variants.Overrides = None, without: Sequence[str] = (), plugins: bool = True
) -> model.Recipe:
    """Load and check a recipe from the gallery, a file, text or a mapping.

    Args:
        source: a gallery name such as `"folder-128"`; a path, recognised by .yaml, .yml or a separator, or because a
            file of this name exists; YAML text, recognised by a line break; or a mapping with the same keys. Text and
            mappings can extend recipes of the gallery, not files.
        overrides: values by address, as in a variant's `set:`, such as `{"RandomCrop.height": 64}`.
        without: addresses of steps to leave out, as in a variant's `without:`.
        plugins: run the plugins of installed packages that the recipe names. False, for recipes that you do not trust:
            only plugins and classes that this process has loaded already may be named.

    Returns:
        The recipe: frozen, comparable, picklable.

    Raises:
        RecipeError: the recipe is invalid; `problems` lists every problem.

    >>> load("folder-128").name
    'folder-128'
    >>> load({"version": 1, "recipe": "mine", "steps": ["HorizontalFlip", {"Rotate": {"limit": 10}}]}).steps[1].site
    'Rotate#1'
    """
    changes: variants.Changes = {"overrides": overrides, "without": without, "plugins": plugins}
    if isinstance(source, Mapping) or (isinstance(source, str) and "\n" in source):
        return parse_text(write.text_of(source) if isinstance(source, Mapping) else source, **changes)
    path = gallery.find(source)
    shown = os.fsdecode(path)
    with reported() as problems:
        data, root = limits.read_bytes(path, shown, problems), path.resolve().parent
    return parse_text(data, file=shown, root=root, **changes)


def as_recipe(recipe: model.Recipe | Source) -> model.Recipe:
    """Return a Recipe unchanged, and load anything else that `load` takes."""
    return recipe if isinstance(recipe, model.Recipe) else load(recipe)


def parse_text(
    text: str | bytes, *, file: str = "<recipe>", root: Path | None = None, **changes: Unpack[variants.Changes]
) -> model.Recipe:
    """Load a recipe from YAML text.

    Args:
        text: the recipe; bytes are UTF-8.
        file: name shown in messages.
        root: folder that paths of `extends:` start from and stay inside; None: only gallery names can be extended.
        changes: `overrides`, `without` and `plugins` of `load`.

    Raises:
        RecipeError: the recipe is invalid; `problems` lists every problem.

    >>> parse_text("version: 1\\nrecipe: tiny\\nsteps: [HorizontalFlip]").steps[0].site
    'HorizontalFlip#1'
    """
    folder = None if root is None else root.resolve()
    source = variants.SourceFile(file, None if folder is None else folder / Path(file).name, folder)
    with reported() as problems:
        return document.build(variants.Variants(read_nodes, problems).resolve(text, source, **changes), problems)


def parse_value(text: str) -> Any:
    """Parse one YAML value, for `--set KEY=VALUE`.

    Raises:
        RecipeError: the text is no YAML value.

    >>> parse_value("[128, 1e-3, no]")
    [128, 0.001, 'no']
    """
    with reported() as problems:
        return plain(read_nodes(text, "<value>", problems)[0])


def read_nodes(
    data: str | bytes, file: str, problems: Problems, reads: "Callable[[str, Problems], YamlReader] | None" = None
) -> tuple[Node, list[str]]:
    """Read the one document of a file; return its node and its lines. Takes time linear in the file's size.

    Args:
        data: the file's contents.
        file: its name in messages.
        problems: collects the problems.
        reads: constructs another reader than YamlReader, for files that are no recipes.

    Raises:
        Stop: the file cannot be read; the problems are noted.
    """
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    text = limits.decode(data, file, problems)
    reader = (reads or YamlReader)(file, problems)
    reader.text = text
    try:
        for event in reader.events(yaml.parse(text, Loader=_LOADER)):
            reader.take(event)
    except yaml.YAMLError as error:
        place, message = _syntax(error, text, file)
        raise problems.stop("E105", place, message, "YAML") from None
    if reader.top is None:
        raise problems.stop("E114", Place(file, 1, 1), "the file is empty; a recipe starts with `version: 1`", "recipe")
    return reader.top, limits.lines_of(text)


class YamlReader:
    """Builds nodes from YAML events, notes what recipes do not allow, and stops at the limits."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file, self.problems = file, problems
        self.text = ""
        self.top: Node | None = None
        self._open: list[ListNode | MappingNode] = []
        self._keys: list[Scalar | None] = []  # for each open node the key that waits for its value
        self._count = 0
        self._end = 0  # end of the last node

    def events(self, parsed: Iterable[Any]) -> Iterable[Any]:
        """The events to build from; subclasses filter them."""
        return parsed

    def take(self, event: Any) -> None:
        """Add one event."""
        match event:
            case yaml.DocumentStartEvent():
                if self.top is not None:
                    raise self.problems.stop("E110", self._place(event), "one file holds one recipe", "---")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._keys.pop()
                node = self._open.pop()  # it ends with its bracket, or with its last value
                mark: Any = event.end_mark
                self._end = mark.index if node.flow else self._end
                node.place = replace(node.place, end=self._end)
            case yaml.NodeEvent():
                self._node(event)

    def _place(self, event: Any) -> Place:
        mark, end = event.start_mark, event.end_mark.index
        if getattr(event, "style", None) in ("|", ">"):  # libyaml counts white space behind a block
            while end > mark.index and self.text[end - 1].isspace():
                end -= 1
        self._end = end
        return Place(self.file, mark.line + 1, mark.column + 1, mark.index, end)

    def _node(self, event: Any) -> None:
        place = self._place(event)
        self._count += 1
        if self._count > limits.MAX_NODES:
            raise self.problems.stop("E107", place, f"a recipe holds at most {limits.MAX_NODES:,} values", "recipe")
        if isinstance(event, yaml.AliasEvent):
            self.problems.add("E108", place, f"aliases are not allowed (*{event.anchor}); write the value out", "alias")
            self._add(Scalar(None, place))
            return
        if event.anchor is not None:
            self.problems.add("E108", place, f"anchors are not allowed (&{event.anchor})", "anchor")
        if event.tag is not None and not (isinstance(event, yaml.ScalarEvent) and event.tag == "!"):
            self.problems.add("E109", place, f"tags are not allowed ({event.tag})", "tag")
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event, place))
            return
        if len(self._open) >= limits.MAX_DEPTH:
            raise self.problems.stop("E106", place, f"a recipe nests at most {limits.MAX_DEPTH} levels", "recipe")
        flow = bool(event.flow_style)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        node: ListNode | MappingNode = ListNode([], place, flow) if is_list else MappingNode({}, place, flow=flow)
        self._add(node)
        self._open.append(node)
        self._keys.append(None)

    def _scalar(self, event: Any, place: Place) -> Scalar:
        if not event.implicit[0]:  # quoted, or a block: text
            return Scalar(event.value, place, event.value)
        try:
            return Scalar(resolve(event.value), place, event.value)
        except NumberError as error:
            if event.value.lower() == ".nan" and self._keys and getattr(self._keys[-1], "value", "") == "nodata":
                return Scalar("nan", place, event.value)
            self.problems.add("E115", place, str(error), "number")
            return Scalar(0, place, event.value)

    def _add(self, node: Node) -> None:
        if not self._open:
            self.top = node
            return
        parent = self._open[-1]
        if isinstance(parent, ListNode):
            parent.items.append(node)
            return
        key = self._keys[-1]
        if key is None:
            self._keys[-1] = self._key(node)
            return
        self._keys[-1] = None
        if key.written.startswith("\0"):
            return  # an invalid key, noted already
        if key.written == "<<" and key.value == "<<":
            self.problems.add("E112", key.place, "merge keys are not allowed; write the keys out", "<<")
        elif key.written in parent.entries:
            first = parent.at[key.written].line
            self.problems.add("E111", key.place, f"{key.written!r} is given twice; first in line {first}", key.written)
        else:
            parent.entries[key.written] = node
            parent.at[key.written] = key.place

    def _key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar) and (isinstance(node.value, str) or node.written):
            return node
        self.problems.add("E113", node.place, "a key is a plain name")
        # A unique name, so that reading goes on.
        return Scalar("", node.place, f"\0{node.place.line}:{node.place.col}")


def _syntax(error: yaml.YAMLError, text: str, file: str) -> tuple[Place, str]:
    """The place and message of a syntax error."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    message = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    if mark is None:
        return Place(file, 1, 1), message
    place = Place(file, mark.line + 1, mark.column + 1)
    lines = limits.lines_of(text)
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: mark.column + 1] and not line[: mark.column].strip():
        return place, "a tab in the indentation; indent with spaces"
    context = getattr(error, "context", None)
    return place, f"{message} ({context})" if context else message
