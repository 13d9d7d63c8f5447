"""What is imported on its way: transforms as calls, a recipe as lines with remarks, and what is refused."""

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

# Names of other libraries, of Python and of people: what their arguments are, and what they stand for.
FOREIGN: dict[str, Any] = json.loads(Path(__file__).with_name("foreign.json").read_text(encoding="utf-8"))
# What no recipe can hold stands in it as a comment that begins so: the studio lists these.
LEFT_OUT = re.compile(r"^[ \t]*# (left out: .*?)[ \t]*$", re.MULTILINE)
POSITIONAL = "_args_"  # arguments without a name, in a list


@dataclass(frozen=True, slots=True)
class Call:
    """One transform that a config builds.

    Attributes:
        name: of the class, without the package: `RandomCrop`.
        args: its arguments as plain values; lists for tuples.
        children: the transforms of a group, in order; None where it has none.
        place: where it stands.
        package: what the name is of, where the config says so: `albumentations`, `torchvision.transforms.v2`.
        unread: why its arguments cannot be told; empty where they can.
    """

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    children: tuple[Call, ...] | None = None
    place: Place = NOWHERE
    package: str = ""
    unread: str = ""

    def walk(self) -> Iterator[Call]:
        """The call and everything inside it."""
        yield self
        for child in self.children or ():
            yield from child.walk()

    def by_name(self, names: Sequence[str]) -> Call:
        """The call with its arguments by place, `_args_`, under these names.

        >>> Call("Normalize", {"_args_": [[0.5], [0.5]]}).by_name(["mean", "std"]).args
        {'mean': [0.5], 'std': [0.5]}
        """
        given = self.args.get(POSITIONAL)
        if not isinstance(given, list):
            return self
        if len(given) > len(names):
            why = f"{flow(given)}: {len(given)} positional arguments, and {self.name} takes {len(names)}"
            return replace(self, args={}, unread=why)
        rest = {key: value for key, value in self.args.items() if key != POSITIONAL}
        return replace(self, args=dict(zip(names, given, strict=False)) | rest)


@dataclass(slots=True)
class Line:
    """One step on its way into a recipe.

    Attributes:
        name: the class as recipes call it, or a group.
        args: its arguments as recipes write them, reserved keys (`p`, `id`, `target`, ...) among them.
        place: where the source has it; errors name this place.
        steps: the lines inside, of a group; None: it is no group.
        comments: what the comment on the line says, item by item.
        unsupported: arguments that have no place in a recipe, by name, each with what it was and why.
    """

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    place: Place = NOWHERE
    steps: list[Item] | None = None
    comments: list[str] = field(default_factory=list)
    unsupported: dict[str, tuple[Any, str]] = field(default_factory=dict)


@dataclass(slots=True)
class LeftOut:
    """What stood among the steps and has no place in a recipe; a comment stands for it."""

    name: str
    why: str
    place: Place = NOWHERE


Item = Line | LeftOut


@dataclass(slots=True)
class RecipeDraft:
    """What a reader makes of its source.

    Attributes:
        name: of the recipe, `[a-z0-9-]`.
        origin: what it was, in words: `a pipeline saved by albumentations 1.3.1`.
        place: where the source starts.
        keys: top-level keys of the recipe by name, as plain values: `kind`, `scales`, `inputs`, `output`, `about`, ...
        steps: the training section.
        eval: the other section; None: the source has none.
        batch: what mixes batches.
        remarks: comments on top-level keys, by key.
        notes: what the user is told once, each one sentence: what changed in effect, what is better now.
        refused: what no recipe can hold, by name and with the way out. Steps that are `LeftOut` count by themselves.
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
        """Tell the user this, once."""
        if text not in self.notes:
            self.notes.append(text)

    def refuse(self, name: str, why: str, place: Place | None = None) -> None:
        """Name what no recipe can hold, and the way out."""
        self.refused.append(_refusal(name, why, place or self.place))

    def offer(self, reason: str, way: str) -> None:
        """Add a way out to everything that is refused for a reason."""
        self.refused = [
            replace(each, message=each.message + way) if reason in each.message else each for each in self.refused
        ]
        for item in _left_out([*self.steps, *(self.eval or ()), *self.batch]):
            item.why += way if reason in item.why else ""

    def complete(self) -> None:
        """Derive the section for validation from that for training, where the source has none."""
        if self.eval is None and "eval" not in self.keys:
            self.keys["eval"] = "derived"
            if self.faults():  # of a step that nothing is known to stand for
                del self.keys["eval"]
            else:
                self.remarks["eval"] = "the source has none"

    def left_out(self) -> tuple[Diagnostic, ...]:
        """Everything that is refused, in the order of the source."""
        every = [*self.steps, *(self.eval or ()), *self.batch]
        steps = [_refusal(item.name, item.why, item.place) for item in _left_out(every)]
        return tuple(sorted([*self.refused, *steps], key=lambda result: (result.line, result.col)))

    def lines(self) -> Iterator[Line]:
        """Every line of both sections, groups before what is in them."""
        return walk([*self.steps, *(self.eval or ())])

    def changes(self) -> list[str]:
        """What the comments of the recipe say, by step and key."""
        steps = [f"{line.name}: {'; '.join(line.comments)}" for line in self.lines() if line.comments]
        return [*steps, *(f"{key}: {what}" for key, what in self.remarks.items())]

    def recipe(self) -> model.Recipe:
        """What can be held, as a recipe that was checked.

        Raises:
            RecipeError: arguments that today's classes do not take; the places are those of the source.
        """
        return parse.parse_text(self.to_yaml(), file=f"{self.name}.yaml")

    def whole_recipe(self) -> model.Recipe:
        """The recipe; RecipeError with all that no recipe can hold, where there is such."""
        if left := self.left_out():
            raise RecipeError(problems=left)
        return self.recipe()

    def to_yaml(self) -> str:
        """The recipe as YAML, with remarks at the lines and what was left out as comments.

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
        """The recipe; RecipeError with what is wrong with it, at places of the source."""
        top = _mapping({"version": 1, "recipe": self.name, **self.keys}, self.place)
        sections = {"steps": self.steps} | ({} if self.eval is None else {"eval": self.eval})
        sections |= {"batch": self.batch} if any(isinstance(item, Line) for item in self.batch) else {}
        for key, lines in sections.items():
            top.entries[key], top.at[key] = _list(lines, self.place), self.place
        with reported() as problems:
            return document.build(variants.Resolved(top, {}, self.place.file), problems)

    def faults(self) -> tuple[Diagnostic, ...]:
        """What is wrong with it."""
        try:
            self._built()
        except RecipeError as error:
            return error.problems
        return ()


def fault_of(line: Line) -> Diagnostic | None:
    """Why a line by itself is no step of a recipe; None: it is one."""
    spend(150)  # what it costs to build one
    faults = RecipeDraft("t", "", line.place, steps=[line]).faults()
    return faults[0] if faults else None


def wrong(message: str, place: Place, name: str = "import", code: str = "E601") -> RecipeError:
    """What ends an import, at a place of the source."""
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
    """Every line, groups before what is in them."""
    for line in lines:
        if isinstance(line, Line):
            yield line
            yield from walk(line.steps or ())


def _left_out(lines: Sequence[Item]) -> Iterator[LeftOut]:
    for line in lines:
        if isinstance(line, LeftOut):
            yield line
        else:
            yield from _unsupported(line)
            yield from _left_out(line.steps or ())


def _unsupported(line: Line) -> list[LeftOut]:
    result = line.unsupported.items()
    return [LeftOut(f"{line.name}.{key}", f"{flow(value)}: {why}", line.place) for key, (value, why) in result]


def _remarks(lines: Sequence[Item], at: At) -> Iterator[tuple[At, Remark]]:
    """What is said of each line: comments of what was left out stand above the next one."""
    waiting: list[str] = []
    place = 0
    for line in lines:
        if isinstance(line, LeftOut):
            waiting.append(f"left out: {line.name}: {line.why}")
            continue
        unsupported = [f"left out: {left.name}: {left.why}" for left in _unsupported(line)]
        yield (*at, place), Remark((*waiting, *unsupported), "; ".join(line.comments))
        yield from _remarks(line.steps or (), (*at, place))
        waiting, place = [], place + 1
    if waiting:
        yield (*at, place), Remark(tuple(waiting))


def name_of(file: str) -> str:
    """A recipe's name, `[a-z0-9-]`, from a file's without its ending; `imported` where nothing is left of it.

    >>> name_of("configs/Train_Aug.v2.json"), name_of("<stdin>")
    ('train-aug-v2', 'stdin')
    """
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") or "imported"


def takes_of(name: str) -> dict[str, Any]:
    """Schemas of the arguments that a class takes, without `draws`, by name; empty for what is no known class."""
    ours = "draws" if op_record(name).draw_period > 1 else ""
    if known := registry.arguments(name) or grammar.POLICIES.get(name):
        return {key: part for key, part in known["properties"].items() if key != ours}
    return {**MIXTURES[name].arguments, "p": {"default": 1.0}} if name in MIXTURES else {}


def acting(item: Item) -> list[Item]:
    """An item; of a group what is left out of it, where nothing else is in it."""
    inside = item.steps if isinstance(item, Line) else None
    return [item] if inside is None or any(isinstance(each, Line) for each in inside) else inside
