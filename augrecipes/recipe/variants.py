"""Variants: `extends`, `set` and `without`, made on nodes, so that every message keeps its place."""

from __future__ import annotations

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
    """The outermost transform of a saved pipeline, with its class; None: `top` is none."""
    pipeline = top.entries.get("transform", top)
    return pipeline if isinstance(pipeline, MappingNode) and CLASS in pipeline.entries else None


def refuse_saved(top: MappingNode, problems: Problems) -> None:
    """Note what a saved pipeline is, and how it becomes a recipe.

    Raises:
        Stop: `top` is one.
    """
    if (pipeline := pipeline_of(top)) is None:
        return
    release = top.entries.get("__version__")
    version = f"albumentations {release.value}" if isinstance(release, Scalar) else "albumentations"
    steps = pipeline.entries.get("transforms")
    count = counted(len(steps.items) if isinstance(steps, ListNode) else 1, "transform")
    file = "FILE" if top.place.file.startswith("<") else top.place.file  # else a text or a mapping of the caller's
    way = f"`augrecipes import {file} -o recipe.yaml`, or ar.from_albumentations, makes it one"
    message = f"{version} saved this pipeline of {count}, which is not a recipe: {way}"
    raise problems.stop("E117", top.place, message, "A.save")


_OWN_KEYS = ("extends", "set", "without")
# Reads the bytes of one file into nodes and lines; given by the parser, which alone knows YAML.
Read = Callable[[str | bytes, str, Problems], tuple[Node, list[str]]]


Overrides = Mapping[str, Any] | None


class Changes(TypedDict, total=False):
    """What the caller of a parser changes.

    Attributes:
        overrides: values by address, as in a variant's `set:`.
        without: addresses of steps to leave out, as in a variant's `without:`.
        plugins: run those that the recipe names; False: it may name those that have run in this process alone.
    """

    overrides: Overrides
    without: Sequence[str]
    plugins: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """One mapping without `extends`, `set` and `without`.

    Attributes:
        top: the mapping.
        lines: the lines of every file that took part, by file name.
        file: the file that was asked for.
        extends: where it says what it extends.
        partial: what it extends could not be read, so keys may be missing.
        runs_plugins: packages may be imported that announce what it names.
        read: reads what stands in a file that it names; None: nobody does.
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
    """A file of the chain.

    Attributes:
        shown: as messages name it.
        path: resolved; None for text that came from no file.
        root: resolved folder that paths stay inside; None: no paths at all.
    """

    shown: str
    path: Path | None
    root: Path | None


class Variants:
    """Follows the chain of `extends` from one file.

    Args:
        read: reads bytes into nodes.
        problems: where findings go.
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
        if not self._partial:  # else addresses would be looked for in vain
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
                # What the variant says itself replaces; its version counts too, so a missing one is noticed.
                if key not in top.entries and key != "version":
                    top.entries[key], top.at[key] = node, place
            theirs, own = parent.entries.get("plugins"), top.entries.get("plugins")
            if isinstance(theirs, ListNode) and isinstance(own, ListNode) and theirs is not own:
                top.entries["plugins"] = ListNode([*theirs.items, *own.items], own.place)  # steps of either need theirs
        elif changes:
            key = next(iter(changes))
            problems.add("E507", top.at[key], f"`{key}:` changes what `extends:` names; add `extends: NAME`", key)
        self._change(top, changes.get("set"), changes.get("without"))
        return top

    def _extended(self, node: Node, source: SourceFile, chain: tuple[SourceFile, ...]) -> MappingNode | None:
        """The mapping that `extends: node` means; None, with the problem noted, where it cannot be read."""
        parent = None
        try:
            parent = self._parent(node, source, (*chain, source))
        except Stop:
            self._partial = True
        elsewhere = {problem.file for problem in self._problems.all()}
        if self._partial and not chain and elsewhere and source.shown not in elsewhere:
            # Said here too: the file that was asked for is the one that the reader has open.
            message = f"what this extends cannot be read; see {', '.join(sorted(elsewhere))}"
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
        """The file that `extends: name` means."""
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
            inside, there = path.is_relative_to(source.root), path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # a null byte, too long a name, a loop of links
            raise problems.stop("E501", place, f"{name[:80]!r} cannot be read: {error}", "extends") from None
        if not inside:
            message = f"{name!r} leads out of {source.root.name or source.root}/; only files inside it can be extended"
            raise problems.stop("E502", place, message, "extends")
        if not there:
            message = f"{name!r} is neither a recipe of the gallery nor a file next to this one"
            raise problems.stop("E501", place, message, "extends", near(name, gallery.gallery_names()))
        shown = os.path.normpath(os.path.join(os.path.dirname(source.shown), name))  # noqa: PTH118, PTH120 - as written
        return SourceFile(shown, path, source.root)

    def _change(self, top: MappingNode, values: Node | None, without: Node | None) -> None:
        """Apply `set` and `without`. Both count steps as they stood before either."""
        add = self._problems.add
        if values is not None and not isinstance(values, MappingNode):
            message = f"must be a mapping such as {{RandomCrop.height: 64}}, got {describe(values)}"
            add("E507", values.place, message, "set")
            values = None
        left_out = without.items if isinstance(without, ListNode) else [] if without is None else [without]
        if not left_out and not (values and values.entries):
            return
        steps = addresses.Steps(top)
        gone: dict[int, tuple[addresses.StepNode, Place]] = {}
        for item in left_out:
            address = plain(item)
            if not isinstance(address, str):
                add("E507", item.place, f"must be a step's name or id, got {describe(item)}", "without")
            elif (addressed := addresses.find_step(steps, address, item.place, self._problems)) is None:
                continue
            elif addressed[1]:
                add("E507", item.place, "leaves out whole steps; an argument is changed with `set:`", address)
            else:
                gone[id(addressed[0])] = addressed[0], item.place
        for address, place, value in values.pairs() if values else ():
            addresses.assign(top, steps, address, place=place, value=value, problems=self._problems)
        addresses.remove(step for step, _ in gone.values())
        for step, place in gone.values():
            if not step.parent.items:  # a group that this leaves empty is an error of the variant
                step.parent.place = place
