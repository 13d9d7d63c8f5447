"""The recipe as data: frozen, comparable, picklable, with each key declared once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from augrecipes.errors import counted
from augrecipes.ops import bounds, catalog, schedule
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.step import NOWHERE, Arguments, Position, Step, label
from augrecipes.recipe import grammar
from augrecipes.recipe.grammar import UINT8_HWC, Bag, NamedView, Normalize, Output, key
from augrecipes.recipe.inputs import Boxes, Inputs, Keypoints
from augrecipes.recipe.kinds import Facts, Kind, facts
from augrecipes.report import Displayed

if TYPE_CHECKING:
    from augrecipes import api

Mode = Literal["train", "eval"]
Optimize = grammar.Optimize
RuleName = grammar.RuleName
TEXT, STEPS, listing, one_of = grammar.TEXT, grammar.STEPS, grammar.listing, grammar.one_of
DERIVED = "derived"  # of `eval:`

__all__ = [
    "GROUPS", "NOWHERE", "UINT8_HWC", "Arguments", "Bag", "Boxes", "Inputs", "Keypoints", "Kind", "Mode", "NamedView",
    "Normalize", "Optimize", "Output", "Position", "Recipe", "RuleName", "Step", "canonical", "label",
]  # fmt: skip


_NAME: catalog.Schema = {"type": ["string", "integer"], "pattern": "^[a-z0-9-]+$"}
_LARGEST: catalog.Schema = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
_OUTPUT: catalog.Schema = {**grammar.OUTPUT, "additionalProperties": {"$ref": "#/$defs/output"}}
_VIEWS: catalog.Schema = {"type": "object", "minProperties": 1, "additionalProperties": grammar.VIEW}
_EVAL: catalog.Schema = {"anyOf": [{"const": DERIVED}, STEPS]}
_BATCH = listing({"$ref": "#/$defs/batchStep"})


class RecipeMethods:
    """The methods of a Recipe: functions of `augrecipes/api.py`, which binds them here."""

    __slots__ = ()

    if TYPE_CHECKING:
        compile = api.compile
        transform = api.transform
        map_batches = api.map_batches
        show = api.show
        to_yaml = api.to_yaml
        to_albumentations = api.to_albumentations
        device_stage = api.device_stage


@dataclass(frozen=True, slots=True)
class Recipe(Displayed, RecipeMethods):
    """A parsed and checked recipe: frozen, comparable by value, picklable.

    Comparison and `digest` depend on what the recipe does: places, comments and key order do not count.

    A field made by `key` declares a key of recipes: the values that it takes, its description, its default, and whether
    it changes draws. A key of plain values needs nothing else; keys are written in the order of the fields.

    Attributes:
        eval: validation steps; None where the recipe has none.
        output: format of the result; for pairs of targets that `outputs` does not name.
        max_bytes: largest image, in bytes. Arguments that make a larger one are an error of the recipe, draws that do
            are a DataError before memory is allocated; None: no limit.
        outputs: output by target (kind pair).
        file: the recipe's file, for messages.
        derived: `eval` was derived from `steps` by `eval: derived`.
    """

    name: str = key(_NAME, "Name of the recipe.", name="recipe", changes="run")
    about: str = key(TEXT, "One sentence for people.", "", changes="run")
    kind: Kind = key(one_of(Kind), "What one sample is.", "image")
    optimize: Optimize = key(one_of(Optimize), "How much the optimiser may change.", "exact", changes="run")
    without_rules: tuple[RuleName, ...] = key(
        listing(one_of(RuleName)), "Rules that the optimiser does without; `explain` names those that fire.", (),
        changes="run",
    )  # fmt: skip
    plugins: tuple[str, ...] = key(
        listing(TEXT), "Plugins of packages (entry points `augrecipes.plugins`) that register classes of steps.",
        (), changes="run",
    )  # fmt: skip
    max_bytes: int | None = key(
        _LARGEST, "Largest image that a step may make, in bytes; null: no limit. More is an error beforehand.",
        bounds.MOST_BYTES, changes="run",
    )  # fmt: skip
    scales: Arguments = key(grammar.SCALES, "Pairs: relative grid of each target.", Arguments)
    allow_resampling: bool = key({"type": "boolean"}, "Pairs: let shared geometry resample.", False)
    correspondence: bool = key(
        {"type": "boolean"},
        "Views: also the matrix from each view to the image, as NAME_matrix.",
        False,
        omit_empty=True,
    )
    bag: Bag | None = key(grammar.BAG, "Bags: how the tiles are picked.", None)
    tta: grammar.TtaViews | None = key(
        grammar.TTA, "Test-time augmentation: the views of an image that `augrecipes.tta` makes and merges.", None,
        omit_empty=True,
    )  # fmt: skip
    inputs: Inputs = key(grammar.INPUTS, "What samples bring, checked before the first step.", Inputs)
    steps: tuple[Step, ...] = key(STEPS, "Training steps; in kind views, `shared` are the steps before all views.", ())
    views: tuple[NamedView, ...] = key(
        _VIEWS, "Views: the views that are made of one image, by name.", (), omit_empty=True
    )
    eval: tuple[Step, ...] | None = key(
        _EVAL, "Validation and test steps; `derived`: the training steps without their randomness.", None
    )
    batch: tuple[Step, ...] = key(
        _BATCH,
        "Steps that mix the samples of a training batch, with their labels, masks and boxes.",
        (),
        omit_empty=True,
    )
    output: Output = key(_OUTPUT, "Format of the result; for pairs also by target.", Output)
    outputs: Arguments = field(default_factory=Arguments)
    file: str = field(default="<recipe>", compare=False)
    derived: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        return f"<Recipe {self.name}, {self.kind}, {self.optimize}, {counted(len(self.steps), 'step')}>"

    @property
    def facts(self) -> Facts:
        """The facts of the recipe's kind."""
        return facts(self.kind)

    @property
    def targets(self) -> Arguments:
        """Further images of a sample's scene, by name."""
        return self.inputs.targets

    @property
    def digest(self) -> str:
        """64 hex digits that identify what the recipe does; equal recipes have equal digests.

        Keys that change no draw, such as `about` and `optimize`, do not count.
        """
        drawn = {name: value for name, value in canonical(self).items() if name not in _RUN_ONLY}
        return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()

    def walk(self) -> Iterator[Step]:
        """Every step of `steps`, `views` and `eval`, groups before their children, in file order."""
        for step in (*self.listed("train"), *(self.eval or ())):
            yield from step.walk()

    def listed(self, mode: Mode) -> tuple[Step, ...]:
        """The steps of `mode` as the file lists them, those of all views behind the shared ones; empty without any."""
        of_views = [step for view in self.views for step in view.steps] if mode == "train" else ()
        return (*(self.section(mode) or ()), *of_views)

    def section(self, mode: Mode) -> tuple[Step, ...] | None:
        """The steps of `mode`, or None where the recipe has no such section."""
        return self.steps if mode == "train" else self.eval

    @property
    def last_epoch(self) -> int:
        """The epoch from which no argument of a step changes, `batch:` aside; 0 without schedules."""
        return max((schedule.last_epoch(step.schedule) for step in self.walk() if step.schedule), default=0)

    def in_epoch(self, epoch: int) -> Recipe:
        """The recipe with the arguments that its steps have in an epoch; the recipe itself without schedules.

        Raises:
            RecipeError: the epoch is not a whole number from 0.

        >>> import augrecipes as ar
        >>> step = {"Rotate": {"limit": {"from": 0, "to": 30, "epochs": 10}, "p": 1.0}}
        >>> recipe = ar.load({"version": 1, "recipe": "grows", "steps": [step], "eval": []})
        >>> recipe.in_epoch(5).steps[0].args["limit"], recipe.steps[0].args["limit"]
        (15.0, 30)
        """

        def now(steps: tuple[Step, ...]) -> tuple[Step, ...]:
            return tuple(schedule.in_epoch(step, epoch) for step in steps)

        epoch = schedule.epoch_number(epoch)
        views = tuple(replace(view, steps=now(view.steps)) for view in self.views)
        eval_ = self.eval and now(self.eval)
        recipe = replace(self, steps=now(self.steps), views=views, eval=eval_, batch=now(self.batch))
        return self if recipe == self else recipe

    def view(self, name: str, *, shares: bool = False) -> Recipe:
        """One view of a recipe of kind views as a recipe of kind image, whose samples are view 0 of that name.

        Its steps keep the labels that key their draws; written as YAML and read again they get new ones. `shares`: all
        tiles share the draws of the shared steps, so that tile k is view k.

        Raises:
            KeyError: there is no such view.
        """
        view = {view.name: view for view in self.views}[name]
        before = self.view(view.of, shares=True) if view.of else replace(
            self, kind="image", views=(), correspondence=False, derived=False,
            steps=tuple(replace(step, share="bag") for step in self.steps),
        )  # fmt: skip
        recipe = replace(before, name=f"{self.name}-{name}", steps=(*before.steps, *view.steps))
        return recipe if shares else replace(recipe, steps=tuple(step.unshared() for step in recipe.steps))

    def parts(self) -> tuple[Recipe, ...]:
        """The recipe alone or, in kind views, a recipe of kind image for each view."""
        return tuple(self.view(view.name) for view in self.views) or (self,)


KEYS: dict[str, grammar.Key] = {
    declared.name: declared
    for declared in (
        grammar.Key("version", {"const": 1, "description": "Version of the recipe language."}),
        *grammar.keys_of(Recipe),
        grammar.Key("stack", grammar.STACK),
        grammar.Key("targets", {**grammar.TARGETS, "description": "Further images of the scene, by name."}, "targets"),
        grammar.Key("shared", {**STEPS, "description": "Views: steps before all of them."}),
        grammar.Key("extends", {**TEXT, "minLength": 1, "description": "Gallery name or path of what this varies."}),
        grammar.Key("set", {"type": "object", "description": "Variants: values by address: RandomCrop.height."}),
        grammar.Key("without", {"anyOf": [listing(TEXT), TEXT], "description": "Variants: steps left out."}),
    )
}
TOP = grammar.mapping({name: declared.schema for name, declared in KEYS.items()})
_RUN_ONLY = frozenset(declared.field for declared in KEYS.values() if declared.changes == "run")


def canonical(value: Any) -> Any:
    """Values in JSON's types, with equal values written alike: 25.0 is 25; fields that do not compare are left out.

    >>> canonical({"scale": (0.5, 1.0)})
    {'scale': [0.5, 1]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        parts = [(item, getattr(value, item.name)) for item in fields(value) if item.compare]
        return {
            item.name: canonical(part)
            for item, part in parts
            if part or (part == 0 and part is not False) or not item.metadata.get("omit_empty")
        }
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [canonical(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
