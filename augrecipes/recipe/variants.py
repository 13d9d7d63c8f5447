"""Resolve variants, `extends`, `set` and `without`, on nodes, so that every message keeps its place."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from augrecipes.errors import counted
from augrecipes.recipe import addresses, gallery, limits, model
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar, describe, from_value, plain
from augrecipes.recipe.problems import Problems, Stop, near

CLASS = "__class_fullname__"


def pipeline_of(top: MappingNode) -> MappingNode | None:
    """The outermost transform of a pipeline saved by A.save; None where `top` is no such pipeline."""
    pipeline = top.entries.get("transform", top)
    return pipeline if isinstance(pipeline, MappingNode) and CLASS in pipeline.entries else None


def refuse_saved(top: MappingNode, problems: Problems) -> None:
    """Refuse a pipeline saved by A.save, and note how it becomes a recipe.

    Raises:
        Stop: `top` is such a pipeline.
    """
    if (pipeline := pipeline_of(top)) is None:
        return
    release = top.entries.get("__version__")
    version = f"albumentations {release.value}" if isinstance(release, Scalar) else "albumentations"
    steps = pipeline.entries.get("transforms")
    count = counted(len(steps.items) if isinstance(steps, ListNode) else 1, "transform")
    file = "FILE" if top.place.file.startswith("<") else top.place.file  # text or a mapping has no file
    way = f"`augrecipes import {file} -o recipe.yaml`, or ar.from_albumentations, makes it one"
    message = f"{version} saved this pipeline of {count}, which is not a recipe: {way}"
    raise problems.stop("E117", top.place, message, "A.save")


_OWN_KEYS = ("extends", "set", "without")
# Reads a file into nodes and lines; the parser passes this, because only it reads YAML.
Read = Callable[[str | bytes, str, Problems], tuple[Node, list[str]]]


Overrides = Mapping[str, Any] | None


class Changes(TypedDict, total=False):
    """Arguments of `load` that change a recipe.

    Attributes:
        overrides: values by address, as in a variant's `set:`.
        without: addresses of steps to leave out, as in a variant's `without:`.
        plugins: run the plugins that the recipe names; False: only those that this process has loaded may be named.
    """

    overrides: Overrides
    without: Sequence[str]
    plugins: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """A recipe with `extends`, `set` and `without` resolved.

    Attributes:
        top: the mapping.
        lines: the lines of every file involved, by file name.
        file: the recipe's own file.
        extends: the position of its `extends:`.
        partial: a file that it extends could not be read, so keys may be missing.
        runs_plugins: plugins that it names may be imported.
        read: reads files that steps name; None: no files may be read.
    """

    top: MappingNode
    lines: Mapping[str, Sequence[str]]
    file: str
    extends: model.Position = model.NOWHERE
    partial: bool = False
    runs_plugins: bool = True
    read: Read | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the chain of `extends:`.

    Attributes:
        shown: its name in messages.
        path: its resolved path; None for text without a file.
        root: the resolved folder that paths stay inside; None: no paths are allowed.
    """

    shown: str
    path: Path | None
    root: Path | None


class Variants:
    """Follows the chain of `extends:` from one file.

    Args:
        read: reads bytes into nodes.
        problems: collects the problems.
    """

    def __init__(self, read: Read, problems: Problems) -> None:
        self._read, self._problems = read, problems
        self._lines: dict[str, Sequence[str]] = {}
        self._partial = False

    def resolve(self, data: str | bytes, source: SourceFile, **changes: Unpack[Changes]) -> Resolved:
        """The recipe of `data` with everything that it extends, and the caller's own changes.

        Raises:
            Stop: a file of the chain cannot be read; the problem is noted.
        """
        top = self._one(data, source, ())
        extends_place = top.at.get("extends", Place())
        if not self._partial:  # in a partial recipe valid addresses may not exist
            here = Place("<overrides>")
            values = MappingNode({}, here)
            for address, value in (changes.get("overrides") or {}).items():
                try:
                    values.entries[str(address)] = from_value(value, here)
                except TypeError as error:
                    self._problems.add("E507", here, str(error), str(address))
            self._change(top, values, from_value([str(address) for address in changes.get("without", ())], here))
        extends, plugins = model.Position(extends_place.line, extends_place.col), changes.get("plugins", True)
        return Resolved(top, self._lines, source.shown, extends, self._partial, plugins, self._read)

    def _one(self, data: str | bytes, source: SourceFile, chain: tuple[SourceFile, ...]) -> MappingNode:
        problems = self._problems
        top, self._lines[source.shown] = self._read(data, source.shown, problems)
        if not isinstance(top, MappingNode):
            message = f"a recipe is a mapping of keys such as `version: 1`, got {describe(top)}"
            raise problems.stop("E201", top.place, message, "recipe")
        refuse_saved(top, problems)
        changes = {key: top.entries.pop(key) for key in _OWN_KEYS if key in top.entries}
        if "extends" in changes:
            parent = self._extended(changes["extends"], source, chain)
            if parent is None:
                return top
            for key, place, node in parent.pairs():
                # The variant's own keys win; `version` is not inherited, so that a missing one is noticed.
                if key not in top.entries and key != "version":
                    top.entries[key], top.at[key] = node, place
            base, own = parent.entries.get("plugins"), top.entries.get("plugins")
            if isinstance(base, ListNode) and isinstance(own, ListNode) and base is not own:
                top.entries["plugins"] = ListNode([*base.items, *own.items], own.place)  # the steps need both
        elif changes:
            key = next(iter(changes))
            problems.add("E507", top.at[key], f"`{key}:` changes what `extends:` names; add `extends: NAME`", key)
        self._change(top, changes.get("set"), changes.get("without"))
        return top

    def _extended(self, node: Node, source: SourceFile, chain: tuple[SourceFile, ...]) -> MappingNode | None:
        """The mapping that `extends: node` names; None, with the problem noted, where it cannot be read."""
        parent = None
        try:
            parent = self._parent(node, source, (*chain, source))
        except Stop:
            self._partial = True
        elsewhere = {problem.file for problem in self._problems.all()}
        if self._partial and not chain and elsewhere and source.shown not in elsewhere:
            # Repeat the problem in the recipe's own file, which its author has open.
            message = f"the recipe that this extends cannot be read; see {', '.join(sorted(elsewhere))}"
            self._problems.add("E501", node.place, message, "extends")
        return parent

    def _parent(self, node: Node, source: SourceFile, chain: tuple[SourceFile, ...]) -> MappingNode:
        problems = self._problems
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
            message = f"must be a gallery name or a path, got {describe(node)}"
            raise problems.stop("E501", node.place, message, "extends")
        parent = self._locate(node.value, node.place, source)
        same = [index for index, link in enumerate(chain) if link.path == parent.path]
        if same:
            circle = " → ".join(link.shown for link in (*chain[same[0] :], parent))
            raise problems.stop(
                "E503",
                node.place,
                f"a circle of recipes that extend each other: {circle}; take one `extends:` out",
                "extends",
            )
        if len(chain) >= limits.MAX_VARIANTS:
            message = f"more than {limits.MAX_VARIANTS} recipes extend one another"
            raise problems.stop("E504", node.place, message, "extends")
        data = limits.read_bytes(str(parent.path), parent.shown, problems)
        return self._one(data, parent, chain)

    def _locate(self, name: str, place: Place, source: SourceFile) -> SourceFile:
        """The file that `extends: name` names."""
        problems = self._problems
        if name in gallery.gallery_names():
            path = gallery.path(name).resolve()
            return SourceFile(str(path), path, path.parent)
        if source.root is None or source.path is None:
            message = f"{name!r} is not a recipe of the gallery, and a recipe without a file cannot extend a path"
            raise problems.stop("E501", place, message, "extends", near(name, gallery.gallery_names()))
        try:
            path = (source.path.parent / name).resolve()
            if not path.exists() and not path.suffix:
                path = path.with_name(f"{path.name}{gallery.SUFFIX}")
            is_inside, exists = path.is_relative_to(source.root), path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # a null byte, too long a name, a loop of links
            raise problems.stop("E501", place, f"{name[:80]!r} cannot be read: {error}", "extends") from None
        if not is_inside:
            message = f"{name!r} leads out of {source.root.name or source.root}/; only files inside it can be extended"
            raise problems.stop("E502", place, message, "extends")
        if not exists:
            message = f"{name!r} is neither a recipe of the gallery nor a file next to this one"
            raise problems.stop("E501", place, message, "extends", near(name, gallery.gallery_names()))
        shown = os.path.normpath(os.path.join(os.path.dirname(source.shown), name))  # noqa: PTH118, PTH120 - as written
        return SourceFile(shown, path, source.root)

    def _change(self, top: MappingNode, values: Node | None, without: Node | None) -> None:
        """Apply `set` and `without`; both number steps as they were before either."""
        add = self._problems.add
        if values is not None and not isinstance(values, MappingNode):
            message = f"must be a mapping such as {{RandomCrop.height: 64}}, got {describe(values)}"
            add("E507", values.place, message, "set")
            values = None
        left_out = without.items if isinstance(without, ListNode) else [] if without is None else [without]
        if not left_out and not (values and values.entries):
            return
        steps = addresses.Steps(top)
        removed: dict[int, tuple[addresses.StepNode, Place]] = {}
        for item in left_out:
            address = plain(item)
            if not isinstance(address, str):
                add("E507", item.place, f"must be a step's name or id, got {describe(item)}", "without")
            elif (addressed := addresses.find_step(steps, address, item.place, self._problems)) is None:
                continue
            elif addressed[1]:
                add("E507", item.place, "leaves out whole steps; an argument is changed with `set:`", address)
            else:
                removed[id(addressed[0])] = addressed[0], item.place
        for address, place, value in values.pairs() if values else ():
            addresses.assign(top, steps, address, place=place, value=value, problems=self._problems)
        addresses.remove(step for step, _ in removed.values())
        for step, place in removed.values():
            if not step.parent.items:  # an empty group is the fault of the variant, not of its base
                step.parent.place = place
