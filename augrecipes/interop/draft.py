"""RecipeDraft: an import in progress, with transforms as calls, steps as lines with remarks, and refused parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.interop.budget import spend
from augrecipes.mixtures.families import MIXTURES
from augrecipes.ops import registry
from augrecipes.ops.records import op_record
from augrecipes.recipe import document, grammar, model, parse, variants
from augrecipes.recipe.nodes import NOWHERE, ListNode, MappingNode, Place, from_value
from augrecipes.recipe.problems import reported
from augrecipes.recipe.write import At, Remark, flow, to_yaml

# Facts about other libraries: names, their arguments, and what they correspond to.
FOREIGN: dict[str, Any] = json.loads(Path(__file__).with_name("foreign.json").read_text(encoding="utf-8"))
# The comment in a recipe for a part that it cannot hold; the studio lists these.
LEFT_OUT = re.compile(r"^[ \t]*# (left out: .*?)[ \t]*$", re.MULTILINE)
POSITIONAL = "_args_"  # arguments without a name, in a list


@dataclass(frozen=True, slots=True)
class Call:
    """A transform that a config builds.

    Attributes:
        name: the class without its package: `RandomCrop`.
        args: the arguments as plain values; lists for tuples.
        children: the transforms of a group, in order; None if it is no group.
        place: its place in the source.
        package: the package of the class, if the config names it: `albumentations`, `torchvision.transforms.v2`.
        unread: why its arguments are unknown; empty if they are known.
    """

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    children: tuple[Call, ...] | None = None
    place: Place = NOWHERE
    package: str = ""
    unread: str = ""

    def walk(self) -> Iterator[Call]:
        """Yield the call and all calls inside it."""
        yield self
        for child in self.children or ():
            yield from child.walk()

    def by_name(self, names: Sequence[str]) -> Call:
        """The call with its positional arguments, `_args_`, under these names.

        >>> Call("Normalize", {"_args_": [[0.5], [0.5]]}).by_name(["mean", "std"]).args
        {'mean': [0.5], 'std': [0.5]}
        """
        values = self.args.get(POSITIONAL)
        if not isinstance(values, list):
            return self
        if len(values) > len(names):
            why = f"{flow(values)}: {len(values)} positional arguments, and {self.name} takes {len(names)}"
            return replace(self, args={}, unread=why)
        rest = {key: value for key, value in self.args.items() if key != POSITIONAL}
        return replace(self, args=dict(zip(names, values, strict=False)) | rest)


@dataclass(slots=True)
class Line:
    """A step of a draft.

    Attributes:
        name: the recipe's name of the class or group.
        args: the recipe's arguments, including reserved keys (`p`, `id`, `target`, ...).
        place: its place in the source, for errors.
        steps: the lines inside a group; None if it is no group.
        comments: the parts of the comment on the line.
        unsupported: arguments that a recipe cannot hold, by name, each with its value and the reason.
    """

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    place: Place = NOWHERE
    steps: list[Item] | None = None
    comments: list[str] = field(default_factory=list)
    unsupported: dict[str, tuple[Any, str]] = field(default_factory=dict)


@dataclass(slots=True)
class LeftOut:
    """A step of the source that a recipe cannot hold; a comment stands for it."""

    name: str
    why: str
    place: Place = NOWHERE


Item = Line | LeftOut


@dataclass(slots=True)
class RecipeDraft:
    """The draft of a recipe that a reader makes of its source.

    Attributes:
        name: the recipe's name, `[a-z0-9-]`.
        origin: the source in words: `a pipeline saved by albumentations 1.3.1`.
        place: the start of the source.
        keys: top-level keys of the recipe by name, as plain values: `kind`, `scales`, `inputs`, `output`, `about`, ...
        steps: the training section.
        eval: the eval section; None if the source has none.
        batch: the steps that mix batches.
        remarks: comments on top-level keys, by key.
        notes: sentences for the user: what changed in effect, what is better now.
        refused: parts that no recipe can hold, by name and with the cure; `LeftOut` steps come in addition.
        dataset: a call that reads the data as the source did, such as `ar.PairedImages({...}, "x4.yaml")`; or empty.
    """

    name: str
    origin: str
    place: Place = NOWHERE
    keys: dict[str, Any] = field(default_factory=dict)
    steps: list[Item] = field(default_factory=list)
    eval: list[Item] | None = None
    batch: list[Item] = field(default_factory=list)
    remarks: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: list[Diagnostic] = field(default_factory=list)
    dataset: str = ""

    def note(self, text: str) -> None:
        """Add a note, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)

    def refuse(self, name: str, why: str, place: Place | None = None) -> None:
        """Add a part that no recipe can hold, and the cure."""
        self.refused.append(_refusal(name, why, place or self.place))

    def offer(self, reason: str, way: str) -> None:
        """Add a cure to every part that is refused for a reason."""
        self.refused = [
            replace(each, message=each.message + way) if reason in each.message else each for each in self.refused
        ]
        for item in _left_out([*self.steps, *(self.eval or ()), *self.batch]):
            item.why += way if reason in item.why else ""

    def complete(self) -> None:
        """Derive the eval section from the training section if the source has none."""
        if self.eval is None and "eval" not in self.keys:
            self.keys["eval"] = "derived"
            if self.problems():  # a step has no known counterpart for evaluation
                del self.keys["eval"]
            else:
                self.remarks["eval"] = "the source has none"

    def left_out(self) -> tuple[Diagnostic, ...]:
        """All refused parts and left-out steps, in the order of the source."""
        every = [*self.steps, *(self.eval or ()), *self.batch]
        steps = [_refusal(item.name, item.why, item.place) for item in _left_out(every)]
        return tuple(sorted([*self.refused, *steps], key=lambda result: (result.line, result.col)))

    def lines(self) -> Iterator[Line]:
        """Yield every line of both sections, groups before their children."""
        return walk([*self.steps, *(self.eval or ())])

    def changes(self) -> list[str]:
        """The comments of the recipe as text, by step and key."""
        steps = [f"{line.name}: {'; '.join(line.comments)}" for line in self.lines() if line.comments]
        return [*steps, *(f"{key}: {what}" for key, what in self.remarks.items())]

    def recipe(self) -> model.Recipe:
        """The checked recipe, without the parts that it cannot hold.

        Raises:
            RecipeError: arguments that today's classes do not take; places are those of the source.
        """
        return parse.parse_text(self.to_yaml(), file=f"{self.name}.yaml")

    def whole_recipe(self) -> model.Recipe:
        """The recipe; a RecipeError lists all parts that it cannot hold, if there are any."""
        if left := self.left_out():
            raise RecipeError(problems=left)
        return self.recipe()

    def to_yaml(self) -> str:
        """The recipe as YAML, with remarks at the lines, and comments for the parts that were left out.

        Raises:
            RecipeError: as `recipe`.
        """
        recipe = self._built()
        remarks: dict[At, Remark] = {(key,): Remark(beside=text) for key, text in self.remarks.items()}
        remarks.update(_remarks(self.steps, ("steps",)))
        remarks.update(_remarks(self.eval or (), ("eval",)))
        remarks.update(_remarks(self.batch, ("batch",)))
        head = [f"Made of {self.origin} by `augrecipes import`."]
        if count := len(self.left_out()):
            has = "has" if count == 1 else "have"
            head.append(f"Incomplete: {count} of its parts {has} no place in a recipe, see the comments.")
            head += [f"left out: {result.name}: {result.message}" for result in self.refused]
        return to_yaml(recipe, {(): Remark(tuple(head)), **remarks})

    def _built(self) -> model.Recipe:
        """The recipe; a RecipeError has its problems at places of the source."""
        top = _mapping({"version": 1, "recipe": self.name, **self.keys}, self.place)
        sections = {"steps": self.steps} | ({} if self.eval is None else {"eval": self.eval})
        sections |= {"batch": self.batch} if any(isinstance(item, Line) for item in self.batch) else {}
        for key, lines in sections.items():
            top.entries[key], top.at[key] = _list(lines, self.place), self.place
        with reported() as problems:
            return document.build(variants.Resolved(top, {}, self.place.file), problems)

    def problems(self) -> tuple[Diagnostic, ...]:
        """The problems of the recipe."""
        try:
            self._built()
        except RecipeError as error:
            return error.problems
        return ()


def line_problem(line: Line) -> Diagnostic | None:
    """The first problem of a line as the only step of a recipe; None if it is valid."""
    spend(150)  # the cost of building a step
    problems = RecipeDraft("t", "", line.place, steps=[line]).problems()
    return problems[0] if problems else None


def wrong(message: str, place: Place, name: str = "import", code: str = "E601") -> RecipeError:
    """The error that ends an import, at a place of the source."""
    return RecipeError(problems=[Diagnostic(message, place.line or 1, place.col or 1, code, name, place.file)])


def _refusal(name: str, why: str, place: Place) -> Diagnostic:
    return Diagnostic(why, place.line, place.col, "E602", name, place.file)


def _mapping(values: Mapping[str, Any], place: Place) -> MappingNode:
    entries = {key: from_value(value, place) for key, value in values.items()}
    return MappingNode(entries, place, dict.fromkeys(values, place))


def _list(lines: Sequence[Item], place: Place) -> ListNode:
    result = ListNode([], place)
    for line in (line for line in lines if isinstance(line, Line)):
        body = _mapping(line.args, line.place)
        if line.steps is not None:
            body.entries["steps"], body.at["steps"] = _list(line.steps, line.place), line.place
        result.items.append(MappingNode({line.name: body}, line.place, {line.name: line.place}))
    return result


def walk(lines: Sequence[Item]) -> Iterator[Line]:
    """Yield every line, groups before their children."""
    for line in lines:
        if isinstance(line, Line):
            yield line
            yield from walk(line.steps or ())


def _left_out(lines: Sequence[Item]) -> Iterator[LeftOut]:
    for line in lines:
        if isinstance(line, LeftOut):
            yield line
        else:
            yield from _unsupported_parts(line)
            yield from _left_out(line.steps or ())


def _unsupported_parts(line: Line) -> list[LeftOut]:
    result = line.unsupported.items()
    return [LeftOut(f"{line.name}.{key}", f"{flow(value)}: {why}", line.place) for key, (value, why) in result]


def _remarks(lines: Sequence[Item], at: At) -> Iterator[tuple[At, Remark]]:
    """Yield the remark of each line; comments on left-out steps stand above the next line."""
    waiting: list[str] = []
    place = 0
    for line in lines:
        if isinstance(line, LeftOut):
            waiting.append(f"left out: {line.name}: {line.why}")
            continue
        unsupported = [f"left out: {left.name}: {left.why}" for left in _unsupported_parts(line)]
        yield (*at, place), Remark((*waiting, *unsupported), "; ".join(line.comments))
        yield from _remarks(line.steps or (), (*at, place))
        waiting, place = [], place + 1
    if waiting:
        yield (*at, place), Remark(tuple(waiting))


def name_of(file: str) -> str:
    """A recipe's name, `[a-z0-9-]`, from a file name without extension; `imported` if nothing is left of it.

    >>> name_of("configs/Train_Aug.v2.json"), name_of("<stdin>")
    ('train-aug-v2', 'stdin')
    """
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") or "imported"


def argument_schemas(name: str) -> dict[str, Any]:
    """Schemas of the arguments of a class by name, without `draws`; empty for an unknown class."""
    ours = "draws" if op_record(name).draw_period > 1 else ""
    if known := registry.arguments(name) or grammar.POLICIES.get(name):
        return {key: part for key, part in known["properties"].items() if key != ours}
    return {**MIXTURES[name].arguments, "p": {"default": 1.0}} if name in MIXTURES else {}


def acting(item: Item) -> list[Item]:
    """The item in a list; for a group without any line, its left-out children."""
    inside = item.steps if isinstance(item, Line) else None
    return [item] if inside is None or any(isinstance(each, Line) for each in inside) else inside
